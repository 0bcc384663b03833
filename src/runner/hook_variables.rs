//! What the hooks of a run are given.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::request::{HookPlaybook, RunOptions, RunRequest, Targets};
use crate::ansible::events::PlayHost;
use crate::domain::run::RunId;

/// How the run's hosts are reached: on this machine, where hooks work, these
/// would mean another thing, and win over what the play says.
const OF_HOSTS: [&str; 5] = [
    "ansible_connection",
    "ansible_become",
    "ansible_become_method",
    "ansible_become_user",
    "ansible_python_interpreter",
];

struct Host {
    name: String,
    address: String,
    user: Option<String>,
}

impl Host {
    fn json(&self) -> Value {
        json!({
            "hostname": self.name,
            "ansible_host": self.address,
            "ansible_user": self.user,
        })
    }
}

/// All of the run's own, and what the run is.
pub(super) fn of(
    request: &RunRequest,
    id: RunId,
    dir: &Path,
    told: &[PlayHost],
) -> Map<String, Value> {
    let mut variables = request.variables.clone();
    for name in OF_HOSTS {
        variables.remove(name);
    }
    let hosts = hosts(&request.targets, told);
    let target = target(&request.targets, &hosts)
        .map(Host::json)
        .unwrap_or_default();
    let list: Vec<Value> = hosts.iter().map(Host::json).collect();
    for (name, value) in [
        ("cpkit_job_id", json!(id)),
        ("cpkit_target_playbook_name", json!(request.playbook)),
        ("cpkit_target_playbook_version", json!(request.version)),
        ("cpkit_credential_dir", json!(dir)),
        ("cpkit_target_hosts", json!(list)),
        ("target_hostname", target["hostname"].clone()),
        ("target_ansible_host", target["ansible_host"].clone()),
        ("target_ansible_user", target["ansible_user"].clone()),
    ] {
        variables.insert(name.to_owned(), value);
    }
    variables
}

/// A lifecycle playbook may add its hosts itself, when Ansible does not know
/// them yet.
fn hosts(targets: &Targets, told: &[PlayHost]) -> Vec<Host> {
    let mut hosts: Vec<Host> = match targets {
        Targets::Servers(servers) => servers
            .iter()
            .map(|s| Host {
                name: s.hostname.to_string(),
                address: s.address.to_string(),
                user: Some(s.user.to_string()),
            })
            .collect(),
        _ => Vec::new(),
    };
    for host in told.iter().filter(|h| !h.implicit) {
        if !hosts.iter().any(|h| h.name == host.name) {
            hosts.push(Host {
                name: host.name.clone(),
                address: host.address.clone(),
                user: host.user.clone(),
            });
        }
    }
    hosts
}

/// The one that the run is for, if there is one.
fn target<'h>(targets: &Targets, hosts: &'h [Host]) -> Option<&'h Host> {
    match targets {
        Targets::Servers(servers) => {
            let target = servers
                .iter()
                .position(|s| s.group == "kloigos_target")
                .unwrap_or(0);
            hosts.get(target)
        }
        _ => match hosts {
            [one] => Some(one),
            _ => None,
        },
    }
}

/// A run of a hook: on this machine, for real, with what opens vaulted files.
pub(super) fn request(
    run: &RunRequest,
    hook: &HookPlaybook,
    variables: Map<String, Value>,
) -> RunRequest {
    RunRequest {
        playbook: hook.playbook.clone(),
        version: hook.version,
        digest: hook.digest.clone(),
        content: hook.content.clone(),
        lifecycle: None,
        subject: None,
        targets: Targets::None,
        variables,
        store_variables: run.store_variables.clone(),
        secrets: run.secrets.clone(),
        secret_files: run.secret_files.clone(),
        var_files: run.var_files.clone(),
        options: RunOptions {
            verbosity: run.options.verbosity,
            vaults: run.options.vaults.clone(),
            ..RunOptions::default()
        },
        wait: run.wait,
        hooks: None,
        request_json: Value::Null,
    }
}
