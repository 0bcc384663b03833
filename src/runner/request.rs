//! What is asked of a run, and its registration in the store.

use std::net::IpAddr;
use std::path::PathBuf;

use serde_json::{Map, Value};

use super::liveness::Liveness;
use crate::domain::lifecycle::Lifecycle;
use crate::domain::name::{Hostname, LoginUser, PlaybookName};
use crate::domain::playbook::Content;
use crate::domain::run::{Requester, RunId, Wait};
use crate::domain::secret::{Secret, SecretFile, SecretVars};
use crate::domain::variables::literals;
use crate::env::Env;
use crate::error::Error;
use crate::paths::Paths;
use crate::store::Tx;
use crate::store::runs::NewRun;

/// A registered server that the run is meant for.
#[derive(Debug, Clone)]
pub struct TargetServer {
    /// Its group in the generated inventory.
    pub group: &'static str,
    pub hostname: Hostname,
    pub address: IpAddr,
    pub port: u16,
    pub user: LoginUser,
}

#[derive(Debug, Clone)]
pub enum Targets {
    /// A lifecycle run: each must give a result for the run to succeed.
    Servers(Vec<TargetServer>),
    Hosts {
        servers: Vec<TargetServer>,
        /// As ssh takes them.
        others: Vec<String>,
    },
    Inventory(PathBuf),
    /// Only what the playbook itself brings.
    None,
}

impl Targets {
    pub(super) fn servers(&self) -> &[TargetServer] {
        match self {
            Targets::Servers(servers) | Targets::Hosts { servers, .. } => servers,
            Targets::Inventory(_) | Targets::None => &[],
        }
    }
}

/// Where Ansible gets a password from.
#[derive(Debug, Clone)]
pub enum Password {
    /// Known here: goes into a private file that lives as long as the run.
    Text(Secret),
    /// A program, or a file that is no text: Ansible's own affair.
    File(PathBuf),
}

#[derive(Debug, Clone)]
pub struct Vault {
    pub label: String,
    pub password: Password,
}

#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    pub check: bool,
    pub diff: bool,
    pub limit: Option<String>,
    /// If any: these by their names, in place of `limit`.
    pub only_hosts: Vec<String>,
    pub tags: Option<String>,
    pub skip_tags: Option<String>,
    pub start_at_task: Option<String>,
    pub verbosity: u8,
    pub become_password: Option<Password>,
    pub vaults: Vec<Vault>,
    pub detailed_exitcode: bool,
}

/// A version of a playbook that runs before or after the run's own.
#[derive(Debug, Clone)]
pub struct HookPlaybook {
    pub playbook: PlaybookName,
    pub version: u32,
    pub digest: String,
    pub content: Content,
}

/// What makes the SSH credentials of a run, and takes them back.
#[derive(Debug, Clone)]
pub struct Hooks {
    pub prepare: HookPlaybook,
    pub cleanup: Option<HookPlaybook>,
    pub dir_root: PathBuf,
    /// The artifacts of a run that did not succeed stay.
    pub retain: bool,
}

#[derive(Debug, Clone)]
pub struct RunRequest {
    pub playbook: PlaybookName,
    pub version: u32,
    pub digest: String,
    pub content: Content,
    pub lifecycle: Option<Lifecycle>,
    /// "server lab1", "allocation web"; None for `run`.
    pub subject: Option<String>,
    pub targets: Targets,
    /// All others win over these.
    pub store_variables: Map<String, Value>,
    pub variables: Map<String, Value>,
    /// As variables they win over all others.
    pub secrets: SecretVars,
    pub secret_files: Vec<SecretFile>,
    /// Handed to Ansible unparsed.
    pub var_files: Vec<PathBuf>,
    pub options: RunOptions,
    pub wait: Wait,
    /// None: it logs in with what ssh itself finds, or the long-lived key.
    pub hooks: Option<Hooks>,
    /// What the history keeps of the request, secrets redacted.
    pub request_json: Value,
}

impl RunRequest {
    /// As one file for Ansible. Nothing in it is a template: allocations carry
    /// what tenants wrote, and `-e` what a script was given.
    pub(super) fn all_variables(&self) -> Map<String, Value> {
        let mut all = literals(&self.variables);
        all.extend(literals(self.secrets.reveal()));
        all
    }
}

/// A run that stands in the store as queued. As long as this value lives, so
/// does the run; when the process dies, the kernel frees its lock and the next
/// command knows.
pub struct RegisteredRun {
    id: RunId,
    pub(super) _alive: Liveness,
}

impl RegisteredRun {
    pub fn id(&self) -> RunId {
        self.id
    }
}

/// Writes the run, queued, and takes its liveness lock before anybody can see
/// the row.
pub fn register(
    tx: &Tx<'_>,
    paths: &Paths,
    env: &Env,
    request: &RunRequest,
) -> Result<RegisteredRun, Error> {
    let id = tx.runs().insert(&NewRun {
        playbook: &request.playbook,
        version: request.version,
        digest: &request.digest,
        lifecycle: request.lifecycle,
        subject: request.subject.as_deref(),
        requester: &Requester {
            user: env.user.clone(),
            host: env.host.clone(),
            pid: env.pid,
        },
        check: request.options.check,
        request: &request.request_json,
    })?;
    Ok(RegisteredRun {
        id,
        _alive: Liveness::take(paths, id)?,
    })
}
