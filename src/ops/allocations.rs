//! Allocations: created, retried, deleted, shown.

mod reserve;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::Path;

use serde::Serialize;

use super::runs::RunSummary;
use super::truth::Truth;
use super::{Done, LifecycleOptions, Services, addresses, compute_units, lifecycle, servers};
use crate::domain::allocation::{Allocation, AllocationKey, AllocationStatus};
use crate::domain::compute_unit::ComputeUnit;
use crate::domain::ip::IpStatus;
use crate::domain::lifecycle::{Lifecycle, allocation_create, allocation_delete};
use crate::domain::memory::MemoryLimits;
use crate::domain::name::{AllocationId, Hostname, LoginUser, Place};
use crate::domain::placement::Wish;
use crate::domain::report::Reporter;
use crate::domain::server::Server;
use crate::domain::ssh_key::TenantKey;
use crate::error::{Error, Kind};
use crate::runner::{self, Engine, RegisteredRun, RunRequest};
use crate::store::Tx;
use crate::store::allocations::subject;
use crate::store::runs::RunFilter;

use reserve::reserve;

#[derive(Debug, Clone)]
pub struct NewAllocation {
    pub id: Option<AllocationId>,
    /// The id's text when None.
    pub user: Option<LoginUser>,
    pub key: TenantKey,
    pub wish: Wish,
    pub address: Option<IpAddr>,
    pub tags: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default)]
pub struct AllocationFilter {
    pub server: Option<Hostname>,
    pub status: Option<AllocationStatus>,
    pub region: Option<Place>,
    /// With those that were deleted.
    pub all: bool,
}

#[derive(Debug, Clone, Serialize)]
pub struct AllocationDetail {
    #[serde(flatten)]
    pub allocation: Allocation,
    pub unit: Option<ComputeUnit>,
    /// None when the unit's server is gone or not initialised.
    pub memory: Option<MemoryLimits>,
    /// Where an administrator's ssh reaches the server.
    pub server_address: Option<IpAddr>,
    pub server_port: Option<u16>,
    /// The last ten, newest first.
    pub runs: Vec<RunSummary>,
}

pub(super) fn find(tx: &Tx<'_>, id: &AllocationId) -> Result<Allocation, Error> {
    tx.allocations().get(id)?.ok_or_else(|| {
        Error::not_found(format!("there is no allocation {id}"))
            .hint("`kloigos alloc list` shows them all")
    })
}

/// A run that is registered, with all that executing it needs.
struct Prepared {
    key: AllocationKey,
    run: RegisteredRun,
    request: RunRequest,
}

/// Chooses a unit, an address and a UID in one immediate transaction, then
/// runs ALLOCATION_CREATE.
pub fn create(
    services: &Services<'_>,
    new: NewAllocation,
    options: &LifecycleOptions,
    reporter: &mut dyn Reporter,
) -> Result<Done<Allocation>, Error> {
    let engine = lifecycle::engine(*services)?;
    let prepared = services.store.write(|tx| {
        let allocation = reserve(tx, &new)?;
        prepare_create(services, tx, &allocation, options)
    })?;
    let key = prepared.key;
    execute(services, &engine, prepared, reporter, &mut |tx| {
        let allocation = by_key(tx, key)?;
        let change = allocation.begin_allocating()?;
        tx.allocations()
            .set_status(&allocation, change, None, None)?;
        Ok(())
    })
}

fn by_key(tx: &Tx<'_>, key: AllocationKey) -> Result<Allocation, Error> {
    tx.allocations()
        .by_key(key)?
        .ok_or_else(|| Error::not_found("the allocation is gone from the store"))
}

pub(super) fn placement_of(
    tx: &Tx<'_>,
    allocation: &Allocation,
) -> Result<(ComputeUnit, Server), Error> {
    let unit = tx
        .compute_units()
        .get(&allocation.compute_unit)?
        .ok_or_else(|| {
            Error::not_found(format!(
                "compute unit {} of allocation {} is gone from the store",
                allocation.compute_unit, allocation.id
            ))
        })?;
    let server = servers::find(tx, &unit.server)?;
    Ok((unit, server))
}

fn prepare_create(
    services: &Services<'_>,
    tx: &Tx<'_>,
    allocation: &Allocation,
    options: &LifecycleOptions,
) -> Result<Prepared, Error> {
    let (unit, server) = placement_of(tx, allocation)?;
    let request = lifecycle::request(
        tx,
        Lifecycle::AllocationCreate,
        subject(&allocation.id),
        &server,
        allocation_create(allocation, &unit, &server, &tx.owner_id()?),
        options,
    )?;
    register(services, tx, allocation, request)
}

fn register(
    services: &Services<'_>,
    tx: &Tx<'_>,
    allocation: &Allocation,
    request: RunRequest,
) -> Result<Prepared, Error> {
    let run = runner::register(tx, services.paths, services.env, &request)?;
    tx.allocations().set_run(allocation.key, run.id())?;
    Ok(Prepared {
        key: allocation.key,
        run,
        request,
    })
}

fn execute(
    services: &Services<'_>,
    engine: &Engine<'_>,
    prepared: Prepared,
    reporter: &mut dyn Reporter,
    on_claimed: &mut dyn FnMut(&Tx<'_>) -> Result<(), Error>,
) -> Result<Done<Allocation>, Error> {
    let id = prepared.run.id();
    let outcome = runner::execute(
        prepared.run,
        prepared.request,
        engine,
        reporter,
        on_claimed,
        &mut |tx, outcome| lifecycle::settle(tx, id, Some(outcome)),
    )?;
    Ok(Done {
        value: services.store.read(|tx| by_key(tx, prepared.key))?,
        run: outcome,
    })
}

/// Goes on from a failed create, or finishes a failed delete.
pub fn retry(
    services: &Services<'_>,
    id: &AllocationId,
    options: &LifecycleOptions,
    reporter: &mut dyn Reporter,
) -> Result<Done<Allocation>, Error> {
    let allocation = services.store.read(|tx| find(tx, id))?;
    if allocation.status == AllocationStatus::DeallocationFail {
        return delete(services, id, options, reporter);
    }
    let _ = allocation.retry_create()?;
    let engine = lifecycle::engine(*services)?;
    let prepared = services.store.write(|tx| {
        let allocation = find(tx, id)?;
        let change = allocation.retry_create()?;
        let prepared = prepare_create(services, tx, &allocation, options)?;
        let run = Some(prepared.run.id());
        tx.allocations()
            .set_status(&allocation, change, run, None)?;
        let (unit, _) = placement_of(tx, &allocation)?;
        let change = unit.retry()?;
        tx.compute_units()
            .set_status(&unit.id, change, Some(allocation.key), run)?;
        Ok::<_, Error>(prepared)
    })?;
    execute(services, &engine, prepared, reporter, &mut |_| Ok(()))
}

/// Cleans the host; only then are the unit and the address free.
pub fn delete(
    services: &Services<'_>,
    id: &AllocationId,
    options: &LifecycleOptions,
    reporter: &mut dyn Reporter,
) -> Result<Done<Allocation>, Error> {
    services.store.read(|tx| {
        let _ = find(tx, id)?.begin_delete()?;
        Ok::<_, Error>(())
    })?;
    let engine = lifecycle::engine(*services)?;
    let prepared = services.store.write(|tx| {
        let allocation = find(tx, id)?;
        let change = allocation.begin_delete()?;
        let (unit, server) = placement_of(tx, &allocation)?;
        let request = lifecycle::request(
            tx,
            Lifecycle::AllocationDelete,
            subject(id),
            &server,
            allocation_delete(&allocation, &unit, &server, &tx.owner_id()?),
            options,
        )?;
        let prepared = register(services, tx, &allocation, request)?;
        let run = Some(prepared.run.id());
        tx.allocations()
            .set_status(&allocation, change, run, None)?;
        tx.compute_units().set_status(
            &unit.id,
            unit.begin_release()?,
            Some(allocation.key),
            run,
        )?;
        let address = addresses::find(tx, allocation.ip_address)?;
        let change = address.begin_release()?;
        if address.status != IpStatus::Releasing {
            tx.addresses()
                .set_status(address.address, change, Some(allocation.key), run)?;
        }
        Ok::<_, Error>(prepared)
    })?;
    execute(services, &engine, prepared, reporter, &mut |_| Ok(()))
}

/// By id.
pub fn list(services: &Services<'_>, filter: &AllocationFilter) -> Result<Vec<Allocation>, Error> {
    let truth = Truth::see(*services)?;
    services.store.read(|tx| {
        if let Some(server) = &filter.server {
            servers::find(tx, server)?;
        }
        let in_region: Option<Vec<Hostname>> = match &filter.region {
            None => None,
            Some(region) => Some(
                tx.servers()
                    .list()?
                    .into_iter()
                    .filter(|s| s.region == *region)
                    .map(|s| s.hostname)
                    .collect(),
            ),
        };
        // A status may be that of deleted ones.
        let live = !filter.all && filter.status.is_none();
        Ok(tx
            .allocations()
            .list(filter.server.as_ref(), live)?
            .into_iter()
            .map(|a| truth.allocation(a))
            .filter(|a| {
                filter.status.is_none_or(|s| s == a.status)
                    && in_region
                        .as_ref()
                        .is_none_or(|list| list.contains(&a.server))
            })
            .collect())
    })
}

pub fn show(services: &Services<'_>, id: &AllocationId) -> Result<AllocationDetail, Error> {
    let truth = Truth::see(*services)?;
    services.store.read(|tx| {
        let allocation = find(tx, id)?;
        let unit = match tx.compute_units().get(&allocation.compute_unit)? {
            // After a delete the unit may carry another tenant.
            Some(unit) if unit.allocation_key == Some(allocation.key) => {
                Some(truth.unit(tx, unit)?)
            }
            _ => None,
        };
        let server = match &unit {
            Some(unit) => tx.servers().get(&unit.server)?,
            None => None,
        };
        let runs = tx.runs().list(&RunFilter {
            subject: Some(subject(id)),
            limit: Some(10),
            ..RunFilter::default()
        })?;
        Ok(AllocationDetail {
            memory: match (&server, &unit) {
                (Some(s), Some(u)) => compute_units::memory(s, u),
                _ => None,
            },
            server_address: server.as_ref().map(Server::ansible_host),
            server_port: server.as_ref().map(|s| s.port),
            allocation: truth.allocation(allocation),
            unit,
            runs: runs
                .into_iter()
                .map(|r| super::runs::summary(tx, truth.run(r)))
                .collect::<Result<Vec<_>, Error>>()?,
        })
    })
}

/// The command line of an ssh session as the tenant, through the address at
/// which Kloigos itself reaches the server.
pub fn ssh_command(
    services: &Services<'_>,
    id: &AllocationId,
    identity: Option<&Path>,
    command: &[String],
) -> Result<Vec<OsString>, Error> {
    let (allocation, server) = services.store.read(|tx| {
        let allocation = find(tx, id)?;
        if allocation.status != AllocationStatus::Allocated {
            return Err(Error::new(
                Kind::WrongState,
                format!(
                    "cannot log in to allocation {id}: it is {}",
                    allocation.status
                ),
            ));
        }
        let (_, server) = placement_of(tx, &allocation)?;
        Ok((allocation, server))
    })?;
    runner::ssh_session(
        services.env,
        services.paths,
        allocation.login_user.as_str(),
        server.ansible_host(),
        server.port,
        identity,
        command,
    )
}
