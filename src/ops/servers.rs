//! Registering, initialising, showing and forgetting servers.

use std::net::IpAddr;

use serde::Serialize;

use super::runs::RunSummary;
use super::truth::Truth;
use super::{Done, LifecycleOptions, Services, lifecycle};
use crate::domain::allocation::Allocation;
use crate::domain::compute_unit::{ComputeUnit, CuStatus};
use crate::domain::event::Event;
use crate::domain::lifecycle::{Lifecycle, server_decomm, server_init};
use crate::domain::name::{AllocationId, Hostname};
use crate::domain::report::{Report, Reporter};
use crate::domain::server::{NewServer, Server, ServerStatus, StorageWish};
use crate::domain::transition::Change;
use crate::error::{Error, Kind};
use crate::runner;
use crate::store::events::EventFilter;
use crate::store::runs::RunFilter;
use crate::store::servers::subject;
use crate::store::{Store, Tx};

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

/// What `server init` may add to what `server add` was told.
#[derive(Debug, Clone, Default)]
pub struct StorageAmend {
    pub vg: Option<String>,
    pub disks: Vec<String>,
    pub disk_size_gb: Option<u32>,
    pub adopt: bool,
}

pub(super) fn find(tx: &Tx<'_>, hostname: &Hostname) -> Result<Server, Error> {
    tx.servers().get(hostname)?.ok_or_else(|| {
        Error::not_found(format!("there is no server {hostname}"))
            .hint("`kloigos server list` shows them all")
    })
}

/// Registers the server and its compute units, and learns its host key.
pub fn add(
    services: &Services<'_>,
    new: NewServer,
    reporter: &mut dyn Reporter,
) -> Result<Server, Error> {
    new.check()?;
    check_storage_names(new.storage.vg.as_deref(), &new.storage.disks)?;
    let server = services.store.write(|tx| {
        for other in tx.servers().list()? {
            if let Some(what) = clash(&new, &other) {
                return Err(Error::new(Kind::Exists, what)
                .hint(format!("`kloigos server show {0}` shows it; if what it has is wrong, `kloigos server remove {0}` and add it again", other.hostname)));
            }
        }
        refuse_pool_address(tx, &new)?;
        tx.servers().insert(&new)?;
        for (ordinal, range) in (0u32..).zip(&new.compute_units) {
            tx.compute_units().insert(&new.hostname, ordinal, range)?;
        }
        find(tx, &new.hostname)
    })?;
    if let Err(e) = learn_host_key(services, &server, reporter) {
        reporter.report(&Report::Warning(format!(
            "no host key of {} yet: {e}",
            server.hostname
        )));
    }
    Ok(server)
}

/// One machine must not be two servers. Only a public address may be shared,
/// by machines that one address forwards to from different ports.
fn clash(new: &NewServer, other: &Server) -> Option<String> {
    let name = &other.hostname;
    if new.hostname == *name {
        return Some(format!("server {name} exists already"));
    }
    if let Some(ip) = new.public_ip
        && (Some(ip), new.port) == (other.public_ip, other.port)
    {
        return Some(format!("server {name} already has {ip} port {}", new.port));
    }
    let shared = if new.private_ip == other.private_ip || Some(new.private_ip) == other.public_ip {
        new.private_ip
    } else {
        new.public_ip.filter(|ip| *ip == other.private_ip)?
    };
    Some(format!("server {name} already has the address {shared}"))
}

/// An address of the pool moves from server to server with its tenant.
fn refuse_pool_address(tx: &Tx<'_>, new: &NewServer) -> Result<(), Error> {
    for ip in [Some(new.private_ip), new.public_ip].into_iter().flatten() {
        if let Some(address) = tx.addresses().get(ip)? {
            let whose = match address.allocation {
                Some(id) => format!("the floating address of allocation {id}"),
                None => "a floating address of the IP pool".to_owned(),
            };
            return Err(Error::new(
                Kind::Exists,
                format!("{ip} is {whose}, not one of a server's own"),
            )
            .hint("give the server's own address, or `kloigos ip remove` takes a free one out of the pool"));
        }
    }
    Ok(())
}

/// The key that the host shows at first contact is accepted and told, so that
/// a later change is refused.
fn learn_host_key(
    services: &Services<'_>,
    server: &Server,
    reporter: &mut dyn Reporter,
) -> Result<(), Error> {
    let keys = runner::learn_host_key(
        services.env,
        services.paths,
        server.ansible_host(),
        server.port,
    )?;
    if !keys.is_empty() {
        reporter.report(&Report::Note(format!(
            "accepted the host key of {}: {}",
            server.hostname,
            keys.join(", ")
        )));
    }
    Ok(())
}

fn check_storage_names(vg: Option<&str>, disks: &[String]) -> Result<(), Error> {
    // lvm(8): letters, digits and + _ . -, not beginning with a hyphen.
    let vg_ok = |name: &str| {
        (1..=127).contains(&name.len())
            && !name.starts_with('-')
            && !matches!(name, "." | "..")
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'_' | b'.' | b'-'))
    };
    if let Some(name) = vg.filter(|name| !vg_ok(name)) {
        return Err(Error::usage(format!(
            "`{}` is not a volume group's name: letters, digits and `+_.-`, not beginning with a hyphen",
            name.escape_debug()
        )));
    }
    if let Some(disk) = disks.iter().find(|d| {
        !d.starts_with("/dev/")
            || d.contains("..")
            || d.chars().any(|c| c.is_control() || c.is_whitespace())
    }) {
        return Err(Error::usage(format!(
            "`{}` is not a disk: give its device path, as in /dev/vdb",
            disk.escape_debug()
        )));
    }
    Ok(())
}

/// Runs SERVER_INIT. Also on a READY server, which repairs it.
pub fn init(
    services: &Services<'_>,
    hostname: &Hostname,
    amend: StorageAmend,
    options: &LifecycleOptions,
    reporter: &mut dyn Reporter,
) -> Result<Done<Server>, Error> {
    check_storage_names(amend.vg.as_deref(), &amend.disks)?;
    let begin = |_: &Tx<'_>, server: &Server| Ok(server.begin_init()?);
    let amend = |tx: &Tx<'_>| amend_storage(tx, hostname, &amend);
    let playbook = Playbook::Init;
    act(
        services, hostname, playbook, &begin, &amend, options, reporter,
    )
}

/// Runs SERVER_INIT on a decommissioned server, with the units that it had.
pub fn recommission(
    services: &Services<'_>,
    hostname: &Hostname,
    options: &LifecycleOptions,
    reporter: &mut dyn Reporter,
) -> Result<Done<Server>, Error> {
    let begin = |_: &Tx<'_>, server: &Server| Ok(server.begin_recommission()?);
    let playbook = Playbook::Init;
    act(
        services,
        hostname,
        playbook,
        &begin,
        &|_| Ok(()),
        options,
        reporter,
    )
}

/// Runs SERVER_DECOMM. Refused while allocations live there.
pub fn decommission(
    services: &Services<'_>,
    hostname: &Hostname,
    purge_packages: bool,
    options: &LifecycleOptions,
    reporter: &mut dyn Reporter,
) -> Result<Done<Server>, Error> {
    let begin =
        |tx: &Tx<'_>, server: &Server| Ok(server.begin_decommission(live_on(tx, hostname)?.len())?);
    let playbook = Playbook::Decomm { purge_packages };
    act(
        services,
        hostname,
        playbook,
        &begin,
        &|_| Ok(()),
        options,
        reporter,
    )
}

/// What acts on a server, with what only it is told.
#[derive(Debug, Clone, Copy)]
enum Playbook {
    Init,
    Decomm { purge_packages: bool },
}

type Begin<'b> = &'b dyn Fn(&Tx<'_>, &Server) -> Result<Change<ServerStatus>, Error>;

/// One lifecycle run on one server. `before` changes what the store says of it,
/// in the transaction in which the run begins.
fn act(
    services: &Services<'_>,
    hostname: &Hostname,
    playbook: Playbook,
    begin: Begin<'_>,
    before: &dyn Fn(&Tx<'_>) -> Result<(), Error>,
    options: &LifecycleOptions,
    reporter: &mut dyn Reporter,
) -> Result<Done<Server>, Error> {
    let server = services.store.read(|tx| {
        let server = find(tx, hostname)?;
        let _ = begin(tx, &server)?;
        Ok::<_, Error>(server)
    })?;
    let engine = lifecycle::engine(*services)?;
    // A host that does not answer is the run's to tell.
    let _ = learn_host_key(services, &server, reporter);

    let (run, request) = services.store.write(|tx| {
        before(tx)?;
        let server = find(tx, hostname)?;
        let change = begin(tx, &server)?;
        let (lifecycle, variables) = match playbook {
            Playbook::Init => {
                let units = tx.compute_units().list(Some(hostname))?;
                let variables = server_init(&server, &units, &tx.owner_id()?);
                (Lifecycle::ServerInit, variables)
            }
            Playbook::Decomm { purge_packages } => {
                let variables = server_decomm(&server, &tx.owner_id()?, purge_packages);
                (Lifecycle::ServerDecomm, variables)
            }
        };
        let request = lifecycle::request(
            tx,
            lifecycle,
            subject(hostname),
            &server,
            variables,
            options,
        )?;
        let run = runner::register(tx, services.paths, services.env, &request)?;
        tx.servers()
            .set_status(hostname, change, Some(run.id()), None)?;
        Ok::<_, Error>((run, request))
    })?;
    let id = run.id();
    let outcome = runner::execute(
        run,
        request,
        &engine,
        reporter,
        &mut |_| Ok(()),
        &mut |tx, outcome| lifecycle::settle(tx, id, Some(outcome)),
    )?;
    Ok(Done {
        value: services.store.read(|tx| find(tx, hostname))?,
        run: outcome,
    })
}

fn amend_storage(tx: &Tx<'_>, hostname: &Hostname, amend: &StorageAmend) -> Result<(), Error> {
    let server = find(tx, hostname)?;
    let mut wish: StorageWish = server.storage.clone();
    if amend.vg.is_some() {
        wish.vg.clone_from(&amend.vg);
        wish.disks.clear();
    }
    if !amend.disks.is_empty() {
        wish.disks.clone_from(&amend.disks);
        wish.vg.clone_from(&amend.vg);
    }
    if amend.disk_size_gb.is_some() {
        wish.disk_size_gb = amend.disk_size_gb;
    }
    let adopt = server.adopt || amend.adopt;
    if wish != server.storage || adopt != server.adopt {
        tx.servers().set_storage(hostname, &wish, adopt)?;
    }
    Ok(())
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
    Ok(tx
        .allocations()
        .list()?
        .into_iter()
        .filter(|a| a.is_live() && &a.server == hostname)
        .collect())
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
