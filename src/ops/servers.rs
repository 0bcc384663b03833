//! Servers: shown and forgotten here, the rest below.

mod act;
mod edit;
mod register;

use std::net::IpAddr;

use serde::Serialize;

use super::Services;
use super::runs::RunSummary;
use super::truth::Truth;
use crate::domain::allocation::Allocation;
use crate::domain::compute_unit::{ComputeUnit, CuStatus};
use crate::domain::event::Event;
use crate::domain::name::{AllocationId, Hostname};
use crate::domain::server::Server;
use crate::error::Error;
use crate::runner;
use crate::store::events::EventFilter;
use crate::store::runs::RunFilter;
use crate::store::servers::subject;
use crate::store::{Store, Tx};

pub use act::{StorageAmend, decommission, init, recommission};
pub use edit::{Edited, edit};
pub use register::add;

pub use crate::store::runs::HostChange;

#[derive(Debug, Clone, Serialize)]
pub struct ServerSummary {
    #[serde(flatten)]
    pub server: Server,
    pub units: u32,
    pub units_free: u32,
    pub allocations: u32,
}

#[derive(Debug, Clone, Serialize)]
pub struct ServerDetail {
    #[serde(flatten)]
    pub server: Server,
    pub compute_units: Vec<ComputeUnit>,
    pub allocations: Vec<Allocation>,
    /// Type and fingerprint of each host key that is accepted.
    pub host_keys: Vec<String>,
    /// The last ten, newest first.
    pub runs: Vec<RunSummary>,
    /// The last ten runs that changed this host, newest first.
    pub changes: Vec<HostChange>,
    /// The last ten, newest first.
    pub events: Vec<Event>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Removed {
    pub hostname: Hostname,
    pub closed_allocations: Vec<AllocationId>,
    pub freed_addresses: Vec<IpAddr>,
}

pub(super) fn find(tx: &Tx<'_>, hostname: &Hostname) -> Result<Server, Error> {
    tx.servers().get(hostname)?.ok_or_else(|| {
        Error::not_found(format!("there is no server {hostname}"))
            .hint("`kloigos server list` shows them all")
    })
}

pub fn list(services: &Services<'_>) -> Result<Vec<ServerSummary>, Error> {
    let truth = Truth::see(*services)?;
    services.store.read(|tx| {
        let units = tx.compute_units().list(None)?;
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Ok(tx
            .servers()
            .list()?
            .into_iter()
            .map(|server| {
                let mine = || units.iter().filter(|u| u.server == server.hostname);
                ServerSummary {
                    units: count(mine().count()),
                    units_free: count(mine().filter(|u| u.status == CuStatus::Free).count()),
                    allocations: count(mine().filter(|u| u.allocation.is_some()).count()),
                    server: truth.server(server),
                }
            })
            .collect())
    })
}

pub fn show(services: &Services<'_>, hostname: &Hostname) -> Result<ServerDetail, Error> {
    let truth = Truth::see(*services)?;
    let (server, compute_units, allocations, runs, changes, events) =
        services.store.read(|tx| {
            let server = find(tx, hostname)?;
            let units = tx
                .compute_units()
                .list(Some(hostname))?
                .into_iter()
                .map(|u| truth.unit(tx, u))
                .collect::<Result<Vec<_>, Error>>()?;
            let allocations = live_on(tx, hostname)?;
            let runs = tx.runs().list(&RunFilter {
                host: Some(hostname.to_string()),
                limit: Some(10),
                ..RunFilter::default()
            })?;
            let runs = runs
                .into_iter()
                .map(|r| super::runs::summary(tx, truth.run(r)))
                .collect::<Result<Vec<_>, Error>>()?;
            let private = server.private_ip;
            let changes = tx.runs().changes_of(
                hostname.as_str(),
                [private, server.public_ip.unwrap_or(private)],
                server.port,
                10,
            )?;
            let events = tx.events().list(&EventFilter {
                subject: Some(subject(hostname)),
                limit: Some(10),
                ..EventFilter::default()
            })?;
            Ok::<_, Error>((server, units, allocations, runs, changes, events))
        })?;
    Ok(ServerDetail {
        host_keys: runner::known_host_keys(
            services.env,
            services.paths,
            server.ansible_host(),
            server.port,
        )?,
        server: truth.server(server),
        compute_units,
        allocations: allocations
            .into_iter()
            .map(|a| truth.allocation(a))
            .collect(),
        runs,
        changes,
        events,
    })
}

fn live_on(tx: &Tx<'_>, hostname: &Hostname) -> Result<Vec<Allocation>, Error> {
    Ok(tx.allocations().list(Some(hostname), true)?)
}

/// Forgets a server. With `lost`, its allocations are closed and their
/// addresses freed on the operator's word, the host unseen.
pub fn remove(services: &Services<'_>, hostname: &Hostname, lost: bool) -> Result<Removed, Error> {
    let store: &Store = services.store;
    let server = store.read(|tx| find(tx, hostname))?;
    let removed = store.write(|tx| {
        let server = find(tx, hostname)?;
        let live = live_on(tx, hostname)?;
        server.may_remove(live.len(), lost)?;
        let mut freed = Vec::new();
        for allocation in &live {
            let change = allocation.lost()?;
            tx.allocations().set_status(
                allocation,
                change,
                None,
                Some("its server was removed as lost"),
            )?;
            if let Some(address) = tx.addresses().get(allocation.ip_address)? {
                let change = address.begin_release()?;
                if change.from() != change.to() {
                    tx.addresses().set_status(
                        address.address,
                        change,
                        Some(allocation.key),
                        None,
                    )?;
                }
                let releasing = super::addresses::find(tx, address.address)?;
                tx.addresses()
                    .set_status(address.address, releasing.released()?, None, None)?;
                freed.push(address.address);
            }
        }
        tx.servers().remove(hostname, lost)?;
        Ok::<_, Error>(Removed {
            hostname: hostname.clone(),
            closed_allocations: live.into_iter().map(|a| a.id).collect(),
            freed_addresses: freed,
        })
    })?;
    // Best effort: a key that stays is only found out of date later.
    let _ = runner::forget_host_key(
        services.env,
        services.paths,
        server.ansible_host(),
        server.port,
    );
    Ok(removed)
}
