//! A run of any playbook: what was asked becomes a request.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::domain::lifecycle::Lifecycle;
use crate::domain::name::{Hostname, PlaybookName};
use crate::domain::report::Reporter;
use crate::domain::request::Asked;
use crate::domain::run::{RunOutcome, Wait};
use crate::domain::variables::ExtraVar;
use crate::error::{Error, Kind};
use crate::ops::{Services, lifecycle, playbooks};
use crate::runner::{self, RunOptions, RunRequest, TargetServer, Targets};
use crate::store::Tx;

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

/// What a run is made of: the part that the history keeps, and what is only
/// of this time.
pub(super) struct Order {
    pub playbook: PlaybookName,
    pub version: Option<u32>,
    pub asked: Asked,
    pub wait: Wait,
    pub verbosity: u8,
}

pub fn run(
    services: &Services<'_>,
    ask: RunAsk,
    reporter: &mut dyn Reporter,
) -> Result<RunOutcome, Error> {
    let order = Order {
        asked: Asked {
            cwd: Some(services.env.cwd.clone()),
            variables: values(&ask.variables),
            variable_files: files(&ask.variables),
            hosts: ask.hosts,
            inventory: ask.inventory,
            limit: ask.limit,
            only_hosts: Vec::new(),
            tags: ask.tags,
            skip_tags: ask.skip_tags,
            check: ask.check,
            diff: ask.diff,
            detailed_exitcode: ask.detailed_exitcode,
            secret_variables: Vec::new(),
            become_password_file: ask.become_password_file,
            vault_ids: ask.vault_ids,
            again: None,
        },
        playbook: ask.playbook,
        version: ask.version,
        wait: ask.wait,
        verbosity: ask.verbosity,
    };
    start(services, order, reporter)
}

/// A lifecycle playbook outside its command would act on whatever its old
/// variables name: last week's delete would wipe the new tenant.
pub(super) fn refuse_lifecycle(playbook: &PlaybookName, check: bool) -> Result<(), Error> {
    match Lifecycle::of_playbook(playbook.as_str()) {
        Some(lifecycle) if !check => Err(Error::new(
            Kind::WrongState,
            format!(
                "cannot run {playbook} by itself: it belongs to `{}`",
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

/// Everything that the run takes comes from `order`, so the same order is the
/// same run.
pub(super) fn start(
    services: &Services<'_>,
    order: Order,
    reporter: &mut dyn Reporter,
) -> Result<RunOutcome, Error> {
    let asked = &order.asked;
    refuse_lifecycle(&order.playbook, asked.check)?;
    let there = |path: &Path| -> Result<PathBuf, Error> {
        let path = asked.at(path, &services.env.cwd);
        std::fs::metadata(&path)
            .map_err(crate::fs::FsError::of("read", &path))
            .map_err(Error::usage)?;
        Ok(path)
    };
    let become_password_file = asked.become_password_file.as_deref().map(&there);
    let become_password_file = become_password_file.transpose()?;
    let inventory = asked.inventory.as_deref().map(&there).transpose()?;
    let var_files = asked.variable_files.iter().map(|f| there(f));
    let var_files = var_files.collect::<Result<Vec<_>, Error>>()?;
    let request_json = serde_json::to_value(asked)
        .map_err(|e| Error::usage(format!("cannot record what is asked: {e}")))?;
    services
        .store
        .read(|tx| playbooks::find(tx, &order.playbook, order.version))?;
    let engine = lifecycle::engine(*services)?;
    let (run, request) = services.store.write(|tx| {
        let version = playbooks::find(tx, &order.playbook, order.version)?;
        let content = tx.playbooks().content(&version)?;
        let request = RunRequest {
            playbook: version.name,
            version: version.version,
            digest: version.digest,
            content,
            lifecycle: None,
            subject: None,
            targets: targets(tx, asked, inventory)?,
            request_json,
            variables: asked.variables.clone(),
            var_files,
            options: RunOptions {
                check: asked.check,
                diff: asked.diff,
                limit: asked.limit.clone(),
                only_hosts: asked.only_hosts.clone(),
                tags: asked.tags.clone(),
                skip_tags: asked.skip_tags.clone(),
                verbosity: order.verbosity,
                become_password_file,
                vault_ids: asked.vault_ids.clone(),
                detailed_exitcode: asked.detailed_exitcode,
            },
            wait: order.wait,
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
fn targets(tx: &Tx<'_>, asked: &Asked, inventory: Option<PathBuf>) -> Result<Targets, Error> {
    if let Some(inventory) = inventory {
        return Ok(Targets::Inventory(inventory));
    }
    if asked.hosts.is_empty() {
        return Ok(Targets::None);
    }
    let mut known = Vec::new();
    let mut other = Vec::new();
    for host in &asked.hosts {
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

fn values(variables: &[ExtraVar]) -> Map<String, Value> {
    variables
        .iter()
        .filter_map(|v| match v {
            ExtraVar::Value { name, value } => Some((name.clone(), value.clone())),
            ExtraVar::File(_) => None,
        })
        .collect()
}

fn files(variables: &[ExtraVar]) -> Vec<PathBuf> {
    variables
        .iter()
        .filter_map(|v| match v {
            ExtraVar::File(path) => Some(path.clone()),
            ExtraVar::Value { .. } => None,
        })
        .collect()
}
