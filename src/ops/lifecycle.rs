//! What all lifecycle operations share: the request of a run, its execution,
//! and how its end settles the states of what it acted on.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{LifecycleOptions, Services, hooks};
use crate::domain::allocation::{Allocation, AllocationStatus};
use crate::domain::lifecycle::Lifecycle;
use crate::domain::name::PlaybookName;
use crate::domain::run::{INTERRUPTED, RunId, RunOutcome, RunStatus};
use crate::domain::secret::SecretVars;
use crate::domain::server::{HostFacts, Server, ServerStatus};
use crate::domain::settings;
use crate::error::Error;
use crate::runner::{Engine, RunOptions, RunRequest, TargetServer, Targets, check_key};
use crate::store::Tx;

/// Everything that a run needs of this machine, checked before anything is
/// changed: Ansible there, the key usable.
pub(super) fn engine(services: Services<'_>) -> Result<Engine<'_>, Error> {
    let key = setting(services, settings::SSH_PRIVATE_KEY)?;
    // Runs with credentials of their own do not use it.
    if !key.is_empty() && !services.store.read(hooks::enabled)? {
        check_key(services.env, std::path::Path::new(&key)).map_err(|e| {
            e.hint(format!(
                "`kloigos setting set {} FILE` names another, `kloigos setting reset {}` leaves the choice to ssh",
                settings::SSH_PRIVATE_KEY,
                settings::SSH_PRIVATE_KEY
            ))
        })?;
    }
    engine_for_checks(services)
}

/// For what reaches no host, as far as is known: the key does not matter.
pub(super) fn engine_for_checks(services: Services<'_>) -> Result<Engine<'_>, Error> {
    Engine::new(
        services.store,
        services.paths,
        services.clock,
        services.env,
        &setting(services, settings::ANSIBLE_PLAYBOOK)?,
    )
}

fn setting(services: Services<'_>, name: &str) -> Result<String, Error> {
    services
        .store
        .read(|tx| Ok::<_, Error>(tx.settings().value(settings::find(name)?)?))
}

/// The request of a lifecycle run on one server, with the default version of
/// its playbook, fixed now.
pub(super) fn request(
    tx: &Tx<'_>,
    lifecycle: Lifecycle,
    subject: String,
    server: &Server,
    variables: Map<String, Value>,
    options: &LifecycleOptions,
) -> Result<RunRequest, Error> {
    let name = PlaybookName::parse(lifecycle.as_str())?;
    let version = tx.playbooks().get(&name, None)?.ok_or_else(|| {
        Error::not_found(format!("the store has no playbook {name}"))
            .hint(format!(
                "`kloigos init` loads the packaged ones; your own comes with `kloigos playbook push {lifecycle} FILE`"
            ))
    })?;
    let content = tx.playbooks().content(&version)?;
    let mut request = RunRequest {
        playbook: name,
        version: version.version,
        digest: version.digest,
        content,
        lifecycle: Some(lifecycle),
        subject: Some(subject),
        targets: Targets::Servers(vec![TargetServer {
            group: "kloigos_server",
            hostname: server.hostname.clone(),
            address: server.ansible_host(),
            port: server.port,
            user: server.admin_user.clone(),
        }]),
        request_json: json!({ "variables": variables }),
        store_variables: Map::new(),
        variables,
        secrets: SecretVars::default(),
        secret_files: Vec::new(),
        var_files: Vec::new(),
        options: RunOptions {
            verbosity: options.verbosity,
            ..RunOptions::default()
        },
        wait: options.wait,
        hooks: None,
    };
    hooks::attach(tx, &mut request)?;
    Ok(request)
}

/// The end of a run, in the transaction that records it: each resource that it
/// was acting on goes to its next state. `outcome` is None when the run's
/// process died. Nothing here fails for a resource that is already settled.
pub(super) fn settle(tx: &Tx<'_>, run: RunId, outcome: Option<&RunOutcome>) -> Result<(), Error> {
    let succeeded = outcome.is_some_and(|o| o.status == RunStatus::Success);
    let reason = match outcome {
        None => Some(INTERRUPTED),
        Some(o) => o.reason.as_deref(),
    };
    let data = outcome.and_then(|o| o.data.as_ref());
    for server in tx.servers().by_run(run)? {
        if server.status == ServerStatus::Decommissioning {
            let change = server.end_decommission(succeeded)?;
            tx.servers()
                .set_status(&server.hostname, change, Some(run), reason)?;
        }
        if server.status != ServerStatus::Initializing {
            continue;
        }
        if succeeded && let Some(data) = data {
            keep_facts(tx, &server, data)?;
        }
        if succeeded && server.adopt {
            // Knowingly, once: should the host come to another store again, a
            // repeat must not take it back in silence.
            tx.servers()
                .set_storage(&server.hostname, &server.storage, false)?;
        }
        tx.servers().set_status(
            &server.hostname,
            server.end_init(succeeded)?,
            Some(run),
            reason,
        )?;
    }
    for allocation in tx.allocations().by_run(run)? {
        match allocation.status {
            AllocationStatus::Requested | AllocationStatus::Allocating => {
                settle_create(tx, &allocation, run, succeeded, reason)?;
            }
            AllocationStatus::Deallocating => {
                settle_delete(tx, &allocation, run, succeeded, reason)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn settle_create(
    tx: &Tx<'_>,
    allocation: &Allocation,
    run: RunId,
    succeeded: bool,
    reason: Option<&str>,
) -> Result<(), Error> {
    let change = allocation.end_allocating(succeeded)?;
    tx.allocations()
        .set_status(allocation, change, Some(run), reason)?;
    if let Some(unit) = tx.compute_units().get(&allocation.compute_unit)? {
        let change = unit.end_allocating(succeeded)?;
        tx.compute_units()
            .set_status(&unit.id, change, Some(allocation.key), Some(run))?;
    }
    if succeeded && let Some(address) = tx.addresses().get(allocation.ip_address)? {
        tx.addresses().set_status(
            address.address,
            address.allocated()?,
            Some(allocation.key),
            Some(run),
        )?;
    }
    Ok(())
}

fn settle_delete(
    tx: &Tx<'_>,
    allocation: &Allocation,
    run: RunId,
    succeeded: bool,
    reason: Option<&str>,
) -> Result<(), Error> {
    let change = allocation.end_delete(succeeded)?;
    tx.allocations()
        .set_status(allocation, change, Some(run), reason)?;
    // Free again only after the playbook that cleans the host has succeeded.
    let holder = (!succeeded).then_some(allocation.key);
    if let Some(unit) = tx.compute_units().get(&allocation.compute_unit)? {
        let change = unit.end_release(succeeded)?;
        tx.compute_units()
            .set_status(&unit.id, change, holder, Some(run))?;
    }
    if succeeded && let Some(address) = tx.addresses().get(allocation.ip_address)? {
        tx.addresses()
            .set_status(address.address, address.released()?, None, Some(run))?;
    }
    Ok(())
}

/// Keeps what SERVER_INIT returned. An operator's own playbook may return less
/// or nothing; what is there and of the right type is kept.
fn keep_facts(tx: &Tx<'_>, server: &Server, data: &Value) -> Result<(), Error> {
    let number = |key: &str| data.get(key).and_then(Value::as_u64);
    let numa: BTreeMap<u32, u32> = data
        .get("numa")
        .and_then(Value::as_object)
        .map(|map| {
            map.iter()
                .filter_map(|(cpu, node)| {
                    Some((cpu.parse().ok()?, u32::try_from(node.as_u64()?).ok()?))
                })
                .collect()
        })
        .unwrap_or_default();
    let facts = HostFacts {
        cpus: number("cpus").and_then(|n| u32::try_from(n).ok()),
        memory_mb: number("memory_mb"),
        vg: data.get("vg").and_then(Value::as_str).map(str::to_owned),
        numa,
    };
    for unit in tx.compute_units().list(Some(&server.hostname))? {
        let mut nodes = unit.cpu_range.cpus().map(|c| facts.numa.get(&c).copied());
        // A unit that spans nodes has no node of its own.
        let first = nodes.next().flatten();
        let node = first.filter(|_| nodes.all(|n| n == first));
        tx.compute_units().set_numa_node(&unit.id, node)?;
    }
    tx.servers().set_facts(&server.hostname, &facts)?;
    Ok(())
}
