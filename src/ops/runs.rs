//! Runs of any playbook, and their history.

mod cancel;
mod follow;

use std::ops::ControlFlow;
use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::truth::Truth;
use super::{Services, lifecycle, playbooks};
use crate::domain::lifecycle::Lifecycle;
use crate::domain::name::{Hostname, PlaybookName};
use crate::domain::report::Reporter;
use crate::domain::run::{Run, RunId, RunOutcome, RunStatus, Wait};
use crate::domain::run_event::{HostCounts, WaitsFor};
use crate::domain::variables::ExtraVar;
use crate::error::{Error, Kind};
use crate::runner::{self, RunOptions, RunRequest, TargetServer, Targets};
use crate::store::Tx;

pub use cancel::cancel;
pub use follow::{exit_code, follow};

pub use crate::store::runs::{Failure, RunFilter, TaskSummary};

/// What `run` was asked.
pub struct RunAsk {
    pub playbook: PlaybookName,
    pub version: Option<u32>,
    /// Registered servers, or addresses and names as ssh takes them.
    pub hosts: Vec<String>,
    pub inventory: Option<PathBuf>,
    pub limit: Option<String>,
    pub tags: Option<String>,
    pub skip_tags: Option<String>,
    pub variables: Vec<ExtraVar>,
    pub check: bool,
    pub diff: bool,
    pub detailed_exitcode: bool,
    pub become_password_file: Option<PathBuf>,
    pub vault_ids: Vec<String>,
    pub wait: Wait,
    pub verbosity: u8,
}

#[derive(Debug, Clone, Serialize)]
pub struct RunDetail {
    #[serde(flatten)]
    pub run: Run,
    /// Of a queued run.
    pub waits_for: Vec<WaitsFor>,
    pub hosts: Vec<HostCounts>,
    pub tasks: Vec<TaskSummary>,
    pub failures: Vec<Failure>,
}

/// A lifecycle playbook outside its command would act on whatever its old
/// variables name: last week's delete would wipe the new tenant.
fn refuse_lifecycle(ask: &RunAsk) -> Result<(), Error> {
    match Lifecycle::of_playbook(ask.playbook.as_str()) {
        Some(lifecycle) if !ask.check => Err(Error::new(
            Kind::WrongState,
            format!(
                "cannot run {} by itself: it belongs to `{}`",
                ask.playbook,
                lifecycle.command()
            ),
        )
        .hint(format!(
            "use `{}`, or try the playbook with --check",
            lifecycle.command()
        ))),
        _ => Ok(()),
    }
}

pub fn run(
    services: &Services<'_>,
    ask: RunAsk,
    reporter: &mut dyn Reporter,
) -> Result<RunOutcome, Error> {
    refuse_lifecycle(&ask)?;
    for file in ask.become_password_file.iter().chain(&ask.inventory) {
        std::fs::metadata(file)
            .map_err(crate::fs::FsError::of("read", file))
            .map_err(Error::usage)?;
    }
    services
        .store
        .read(|tx| playbooks::find(tx, &ask.playbook, ask.version))?;
    let engine = lifecycle::engine(*services)?;
    let (run, request) = services.store.write(|tx| {
        let version = playbooks::find(tx, &ask.playbook, ask.version)?;
        let content = tx.playbooks().content(&version)?;
        let request = RunRequest {
            playbook: version.name,
            version: version.version,
            digest: version.digest,
            content,
            lifecycle: None,
            subject: None,
            targets: targets(tx, &ask)?,
            request_json: asked(&ask),
            variables: values(&ask.variables),
            var_files: files(services, &ask.variables)?,
            options: RunOptions {
                check: ask.check,
                diff: ask.diff,
                limit: ask.limit.clone(),
                tags: ask.tags.clone(),
                skip_tags: ask.skip_tags.clone(),
                verbosity: ask.verbosity,
                become_password_file: ask.become_password_file.clone(),
                vault_ids: ask.vault_ids.clone(),
                detailed_exitcode: ask.detailed_exitcode,
            },
            wait: ask.wait,
        };
        let run = runner::register(tx, services.paths, services.env, &request)?;
        Ok::<_, Error>((run, request))
    })?;
    runner::execute(
        run,
        request,
        &engine,
        reporter,
        &mut |_| Ok(()),
        &mut |_, _| Ok(()),
    )
}

/// Registered servers by their names; everything else as ssh takes it.
fn targets(tx: &Tx<'_>, ask: &RunAsk) -> Result<Targets, Error> {
    if let Some(inventory) = &ask.inventory {
        return Ok(Targets::Inventory(inventory.clone()));
    }
    if ask.hosts.is_empty() {
        return Ok(Targets::None);
    }
    let mut known = Vec::new();
    let mut other = Vec::new();
    for host in &ask.hosts {
        let server = match Hostname::parse(host) {
            Ok(name) => tx.servers().get(&name)?,
            Err(_) => None,
        };
        match server {
            Some(server) => known.push(TargetServer {
                group: "kloigos_server",
                address: server.ansible_host(),
                hostname: server.hostname,
                port: server.port,
                user: server.admin_user,
            }),
            None => other.push(host.clone()),
        }
    }
    Ok(Targets::Hosts {
        servers: known,
        others: other,
    })
}

/// The request as the history keeps it.
fn asked(ask: &RunAsk) -> Value {
    json!({
        "hosts": ask.hosts,
        "inventory": ask.inventory,
        "limit": ask.limit,
        "tags": ask.tags,
        "skip_tags": ask.skip_tags,
        "check": ask.check,
        "diff": ask.diff,
        "variables": values(&ask.variables),
        "variable_files": ask.variables.iter().filter_map(|v| match v {
            ExtraVar::File(path) => Some(path),
            ExtraVar::Value { .. } => None,
        }).collect::<Vec<_>>(),
        "become_password_file": ask.become_password_file,
        "vault_ids": ask.vault_ids,
    })
}

fn values(variables: &[ExtraVar]) -> Map<String, Value> {
    variables
        .iter()
        .filter_map(|v| match v {
            ExtraVar::Value { name, value } => Some((name.clone(), value.clone())),
            ExtraVar::File(_) => None,
        })
        .collect()
}

fn files(services: &Services<'_>, variables: &[ExtraVar]) -> Result<Vec<PathBuf>, Error> {
    variables
        .iter()
        .filter_map(|v| match v {
            ExtraVar::File(path) => Some(services.env.cwd.join(path)),
            ExtraVar::Value { .. } => None,
        })
        .map(|path| {
            std::fs::metadata(&path)
                .map_err(crate::fs::FsError::of("read", &path))
                .map_err(Error::usage)?;
            Ok(path)
        })
        .collect()
}

/// Newest first.
pub fn list(services: &Services<'_>, filter: &RunFilter) -> Result<Vec<Run>, Error> {
    let truth = Truth::see(*services)?;
    let wanted = filter.status;
    services.store.read(|tx| {
        // An orphan stands in the store as live, and is shown as interrupted.
        let store_side = RunFilter {
            status: wanted.filter(|s| !s.is_live() && *s != RunStatus::Interrupted),
            limit: if wanted.is_some() { None } else { filter.limit },
            ..filter.clone()
        };
        let mut runs: Vec<Run> = tx
            .runs()
            .list(&store_side)?
            .into_iter()
            .map(|r| truth.run(r))
            .filter(|r| wanted.is_none_or(|s| s == r.status))
            .collect();
        if let Some(limit) = filter.limit {
            runs.truncate(limit as usize);
        }
        Ok(runs)
    })
}

fn find(tx: &Tx<'_>, id: RunId) -> Result<Run, Error> {
    tx.runs().get(id)?.ok_or_else(|| {
        Error::not_found(format!("there is no run {id}")).hint("`kloigos runs list` shows them all")
    })
}

/// As a reader shows it: one whose process has died is told so.
fn now_is(services: &Services<'_>, id: RunId) -> Result<Run, Error> {
    // The kernel first: a run's end is recorded before its lock is free.
    let alive = runner::is_alive(services.paths, id)?;
    let run = services.store.read(|tx| find(tx, id))?;
    Ok(if alive { run } else { run.as_interrupted() })
}

pub fn show(services: &Services<'_>, id: RunId) -> Result<RunDetail, Error> {
    let truth = Truth::see(*services)?;
    services.store.read(|tx| {
        let run = truth.run(find(tx, id)?);
        Ok(RunDetail {
            waits_for: if run.status == RunStatus::Queued {
                runner::waits_for(tx, id)?
            } else {
                Vec::new()
            },
            hosts: tx.runs().hosts(id)?,
            tasks: tx.runs().tasks(id)?,
            failures: tx.runs().failures(id)?,
            run,
        })
    })
}

/// Ansible's stored output, piece by piece, until `f` breaks.
pub fn output(
    services: &Services<'_>,
    id: RunId,
    f: &mut dyn FnMut(&str) -> ControlFlow<()>,
) -> Result<(), Error> {
    services.store.read(|tx| {
        find(tx, id)?;
        tx.runs().output(id, f)?;
        Ok(())
    })
}
