//! ansible-lint, where it is installed.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

use super::AnsibleError;
use crate::env::Env;

/// What became of the check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lint {
    /// It ran; its findings, one a line as `FILE:LINE:COLUMN: rule`.
    Findings(Vec<String>),
    /// It did not, and why.
    NotRun(String),
}

/// Checks the playbook `entry` in `workdir`; `vaults` are `label@file` each,
/// since it reads encrypted files too.
pub fn lint(
    workdir: &Path,
    entry: &str,
    vaults: &[OsString],
    env: &Env,
) -> Result<Lint, AnsibleError> {
    let Some(path) = env.find_program("ansible-lint") else {
        return Ok(Lint::NotRun("not installed".to_owned()));
    };
    let mut command = Command::new(&path);
    command.env_clear().envs(env.all());
    if !vaults.is_empty() {
        command.env("ANSIBLE_VAULT_IDENTITY_LIST", vaults.join(OsStr::new(",")));
    }
    let output = command
        .args(["--offline", "--nocolor", "-qq", "--format", "pep8", entry])
        .current_dir(workdir)
        .stdin(Stdio::null())
        .output()
        .map_err(|source| AnsibleError::Spawn { path, source })?;
    let findings: Vec<String> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        // Markup of its own that it leaves without colour.
        .map(|l| l.replace("[/]", ""))
        .collect();
    // It exits with 2 for findings and for a command line that it does not
    // know alike; only what it found tells them apart.
    if !output.status.success() && findings.is_empty() {
        let said = String::from_utf8_lossy(&output.stderr);
        let why = said.lines().map(str::trim).rfind(|l| !l.is_empty());
        return Ok(Lint::NotRun(why.unwrap_or("it gave no reason").to_owned()));
    }
    Ok(Lint::Findings(findings))
}
