//! What is hidden of a run.

use std::path::Path;

use super::request::{Password, RunRequest};
use crate::domain::masker::Masker;
use crate::domain::secret;
use crate::domain::vault::{VaultId, VaultSource};
use crate::env::Env;

/// A longer file is no password.
const LONGEST_PASSWORD: u64 = 64 * 1024;

/// All that is known to be secret: what the run was given, and the password
/// files that Ansible is told of in the environment.
pub(super) fn masker(request: &RunRequest, env: &Env) -> Masker {
    masker_with(request, env, &[])
}

/// The same, and private keys that were made for the run.
pub(super) fn masker_with(request: &RunRequest, env: &Env, keys: &[String]) -> Masker {
    let mut hidden: Vec<String> = request
        .secrets
        .reveal()
        .iter()
        .chain(request.secret_files.iter().flat_map(|f| f.values()))
        .flat_map(|(_, value)| secret::texts(value))
        .collect();
    let vaults = request.options.vaults.iter().map(|v| &v.password);
    for password in request.options.become_password.iter().chain(vaults) {
        if let Password::Text(text) = password {
            hidden.push(text.reveal().to_owned());
        }
    }
    hidden.extend(ambient(env));
    hidden.extend(keys.iter().map(|key| key_material(key)));
    Masker::new(hidden.iter().map(String::as_str))
}

/// Without the lines that all keys have: they are no secret, and hide nothing.
fn key_material(key: &str) -> String {
    let lines: Vec<&str> = key.lines().filter(|l| !l.starts_with("-----")).collect();
    lines.join("\n")
}

/// As far as it can be read: a file that is missing is Ansible's to complain
/// about.
fn ambient(env: &Env) -> Vec<String> {
    let text = |key: &str| env.get(key).and_then(|v| v.to_str());
    let mut files: Vec<VaultSource> = [
        "ANSIBLE_BECOME_PASSWORD_FILE",
        "ANSIBLE_VAULT_PASSWORD_FILE",
    ]
    .iter()
    .filter_map(|key| text(key))
    .map(|path| VaultSource::File(path.into()))
    .collect();
    for id in text("ANSIBLE_VAULT_IDENTITY_LIST")
        .unwrap_or_default()
        .split(',')
    {
        let Ok(id) = id.trim().parse::<VaultId>();
        files.push(id.source);
    }
    files
        .iter()
        .filter_map(|source| match source {
            VaultSource::File(path) => password_in(&env.file(path)),
            VaultSource::Prompt => None,
        })
        .collect()
}

fn password_in(path: &Path) -> Option<String> {
    let found = std::fs::metadata(path).ok()?;
    let plain = found.is_file() && found.len() <= LONGEST_PASSWORD;
    if !plain || crate::fs::is_executable(path) {
        return None;
    }
    crate::fs::read_to_string(path).ok()
}
