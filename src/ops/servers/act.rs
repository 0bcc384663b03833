//! The lifecycle runs on a server.

use super::register::{check_storage_names, learn_host_key};
use super::{find, live_on};
use crate::domain::lifecycle::{Lifecycle, server_decomm, server_init};
use crate::domain::name::Hostname;
use crate::domain::report::Reporter;
use crate::domain::server::{Server, ServerStatus, StorageWish};
use crate::domain::transition::Change;
use crate::error::Error;
use crate::ops::{Done, LifecycleOptions, Services, lifecycle};
use crate::runner;
use crate::store::Tx;
use crate::store::servers::subject;

/// What `server init` may add to what `server add` was told.
#[derive(Debug, Clone, Default)]
pub struct StorageAmend {
    pub vg: Option<String>,
    pub disks: Vec<String>,
    pub disk_size_gb: Option<u32>,
    pub adopt: bool,
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
    let amend = |tx: &Tx<'_>| amend_storage(tx, hostname, &amend);
    init_after(services, hostname, &amend, options, reporter)
}

/// Runs SERVER_INIT for what `before` changes in the store, in the transaction
/// in which the run begins.
pub(super) fn init_after(
    services: &Services<'_>,
    hostname: &Hostname,
    before: &dyn Fn(&Tx<'_>) -> Result<(), Error>,
    options: &LifecycleOptions,
    reporter: &mut dyn Reporter,
) -> Result<Done<Server>, Error> {
    let begin = |_: &Tx<'_>, server: &Server| Ok(server.begin_init()?);
    let playbook = Playbook::Init;
    act(
        services, hostname, playbook, &begin, before, options, reporter,
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
