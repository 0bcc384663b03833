//! ansible-lint, where it is installed.

use std::path::Path;
use std::process::{Command, Stdio};

use super::AnsibleError;
use crate::env::Env;

/// Its findings, one a line; None when it is not installed.
pub fn lint(workdir: &Path, entry: &str, env: &Env) -> Result<Option<Vec<String>>, AnsibleError> {
    let Some(path) = env.find_program("ansible-lint") else {
        return Ok(None);
    };
    let output = Command::new(&path)
        .args(["--offline", "--nocolor", "--quiet", "--parseable", entry])
        .current_dir(workdir)
        .env_clear()
        .envs(env.all())
        .stdin(Stdio::null())
        .output()
        .map_err(|source| AnsibleError::Spawn { path, source })?;
    let said = String::from_utf8_lossy(&output.stdout);
    Ok(Some(
        said.lines()
            .map(str::trim)
            .filter(|l| !l.is_empty())
            .map(str::to_owned)
            .collect(),
    ))
}
