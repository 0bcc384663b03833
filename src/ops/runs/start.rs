//! A run of any playbook: what was asked becomes a request.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::from_store::fill;
use crate::domain::lifecycle::Lifecycle;
use crate::domain::name::{Hostname, PlaybookName, is_ansibles_own};
use crate::domain::report::Reporter;
use crate::domain::request::Asked;
use crate::domain::run::{RunOutcome, Wait};
use crate::domain::variables::ExtraVar;
use crate::domain::vault::{VaultId, VaultSource};
use crate::error::{Error, Kind};
use crate::fs::FsError;
use crate::ops::secrets::{self, SecretAsk};
use crate::ops::{Services, hooks, lifecycle, playbooks};
use crate::runner::{self, Password, RunOptions, RunRequest, TargetServer, Targets, Vault};
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
    pub start_at_task: Option<String>,
    pub variables: Vec<ExtraVar>,
    pub check: bool,
    pub diff: bool,
    pub detailed_exitcode: bool,
    pub become_password_file: Option<PathBuf>,
    pub vault_ids: Vec<VaultId>,
    pub secrets: SecretAsk,
    pub wait: Wait,
    pub verbosity: u8,
}

/// What a run is made of: the part that the history keeps, and what is only
/// of this time.
pub(super) struct Order {
    pub playbook: PlaybookName,
    pub version: Option<u32>,
    pub asked: Asked,
    /// Of these only the names are kept.
    pub secrets: SecretAsk,
    pub wait: Wait,
    pub verbosity: u8,
}

pub fn run(
    services: &Services<'_>,
    ask: RunAsk,
    reporter: &mut dyn Reporter,
) -> Result<RunOutcome, Error> {
    start(services, order(services, ask), reporter)
}

pub(super) fn order(services: &Services<'_>, ask: RunAsk) -> Order {
    Order {
        asked: Asked {
            cwd: Some(services.env.cwd.clone()),
            variables: values(&ask.variables),
            store_variables: Map::new(),
            variable_files: files(&ask.variables),
            hosts: ask.hosts,
            inventory: ask.inventory,
            limit: ask.limit,
            only_hosts: Vec::new(),
            tags: ask.tags,
            skip_tags: ask.skip_tags,
            start_at_task: ask.start_at_task,
            check: ask.check,
            diff: ask.diff,
            detailed_exitcode: ask.detailed_exitcode,
            become_password_file: ask.become_password_file,
            vault_ids: ask.vault_ids.iter().map(ToString::to_string).collect(),
            // What is secret is told by `start`.
            secrets: Vec::new(),
            ask_become_pass: false,
            again: None,
        },
        secrets: ask.secrets,
        playbook: ask.playbook,
        version: ask.version,
        wait: ask.wait,
        verbosity: ask.verbosity,
    }
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
        .hint(format!("use `{}`", lifecycle.command()))),
        _ => Ok(()),
    }
}

/// Everything that the run takes comes from `order`, so the same order is the
/// same run.
pub(super) fn start(
    services: &Services<'_>,
    mut order: Order,
    reporter: &mut dyn Reporter,
) -> Result<RunOutcome, Error> {
    order.settle_secrets()?;
    refuse_lifecycle(&order.playbook, order.asked.check)?;
    services.store.read(|tx| {
        playbooks::find(tx, &order.playbook, order.version)?;
        fill(tx, &order.playbook, &mut order.asked)
    })?;
    // A run that is given no host may well stay on this machine.
    let engine = if order.asked.hosts.is_empty() && order.asked.inventory.is_none() {
        lifecycle::engine_for_checks(*services)?
    } else {
        lifecycle::engine(*services)?
    };
    let (run, request) = {
        let given = Given::read(services, &order)?;
        services.store.write(|tx| {
            let mut request = request(tx, &order, &given)?;
            hooks::attach(tx, &mut request)?;
            let run = runner::register(tx, services.paths, services.env, &request)?;
            Ok::<_, Error>((run, request))
        })?
    };
    order.secrets.warn_of_short(reporter);
    runner::execute(
        run,
        request,
        &engine,
        reporter,
        &mut |_| Ok(()),
        &mut |_, _| Ok(()),
    )
}

impl Order {
    /// Before anything of it is kept or shown.
    pub(super) fn settle_secrets(&mut self) -> Result<(), Error> {
        self.secrets.take_over(&mut self.asked.variables)?;
        let names = self.secrets.names();
        self.asked.secrets = names.into_iter().map(str::to_owned).collect();
        self.asked.ask_become_pass = self.secrets.become_password.is_some();
        Ok(())
    }
}

/// What the order names beside the store, looked at before anything is written.
pub(super) struct Given {
    inventory: Option<PathBuf>,
    /// A file in it with its whole path.
    limit: Option<String>,
    var_files: Vec<PathBuf>,
    become_password: Option<Password>,
    vaults: Vec<Vault>,
}

impl Given {
    pub(super) fn read(services: &Services<'_>, order: &Order) -> Result<Self, Error> {
        let asked = &order.asked;
        let at = |path: &Path| {
            if path.starts_with("~") {
                services.env.file(path)
            } else {
                asked.at(path, &services.env.cwd)
            }
        };
        let inventory = asked.inventory.as_deref().map(at);
        if let Some(inventory) = &inventory {
            check_inventory(inventory)?;
        }
        let limit = match asked.limit.as_deref().map(|l| l.strip_prefix('@').ok_or(l)) {
            Some(Ok(file)) => {
                let file = at(Path::new(file));
                secrets::readable(&file, "limit")?;
                Some(format!("@{}", file.display()))
            }
            Some(Err(pattern)) => Some(pattern.to_owned()),
            None => None,
        };
        let var_files: Vec<PathBuf> = asked.variable_files.iter().map(|f| at(f)).collect();
        for file in &var_files {
            secrets::readable(file, "variables")?;
        }
        let become_file = asked.become_password_file.as_deref().map(at);
        let vault_ids: Vec<VaultId> = asked
            .vault_ids
            .iter()
            .filter_map(|id| id.parse().ok())
            .map(|id: VaultId| match id.source {
                VaultSource::File(path) => VaultId {
                    source: VaultSource::File(at(&path)),
                    ..id
                },
                VaultSource::Prompt => id,
            })
            .collect();
        Ok(Given {
            inventory,
            limit,
            var_files,
            become_password: secrets::become_password(
                services.env,
                order.secrets.become_password.as_ref(),
                become_file.as_deref(),
            )?,
            vaults: secrets::vaults(services.env, &vault_ids, &order.secrets.vault_passwords)?,
        })
    }
}

fn check_inventory(path: &Path) -> Result<(), Error> {
    std::fs::metadata(path)
        .map_err(FsError::of("read", path))
        .map_err(|e| {
            Error::usage(format!("no inventory: {e}"))
                .hint("-i takes a file or directory; single hosts are named with --host")
        })?;
    if path.as_os_str().as_encoded_bytes().contains(&b',') {
        return Err(Error::usage(format!(
            "no inventory: Ansible would take {} for a list of hosts, since it has a comma; give it another name",
            path.display()
        )));
    }
    Ok(())
}

pub(super) fn request(tx: &Tx<'_>, order: &Order, given: &Given) -> Result<RunRequest, Error> {
    let asked = &order.asked;
    let version = playbooks::find(tx, &order.playbook, order.version)?;
    Ok(RunRequest {
        content: tx.playbooks().content(&version)?,
        playbook: version.name,
        version: version.version,
        digest: version.digest,
        lifecycle: None,
        subject: None,
        targets: targets(tx, asked, given.inventory.clone())?,
        request_json: serde_json::to_value(asked)
            .map_err(|e| Error::usage(format!("cannot record what is asked: {e}")))?,
        store_variables: asked.store_variables.clone(),
        variables: asked.variables.clone(),
        secrets: order.secrets.variables.clone(),
        secret_files: order.secrets.files.clone(),
        var_files: given.var_files.clone(),
        options: RunOptions {
            check: asked.check,
            diff: asked.diff,
            limit: given.limit.clone(),
            only_hosts: asked.only_hosts.clone(),
            tags: asked.tags.clone(),
            skip_tags: asked.skip_tags.clone(),
            start_at_task: asked.start_at_task.clone(),
            verbosity: order.verbosity,
            become_password: given.become_password.clone(),
            vaults: given.vaults.clone(),
            detailed_exitcode: asked.detailed_exitcode,
        },
        wait: order.wait,
        hooks: None,
    })
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
            None if is_ansibles_own(&host.to_ascii_lowercase()) => {
                return Err(Error::usage(format!(
                    "--host {host}: Ansible means something else by this name"
                ))
                .hint(
                    "for groups give an inventory with -i; plays on this machine need no --host",
                ));
            }
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
