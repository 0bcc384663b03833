//! Ansible's own syntax check.

use std::path::Path;
use std::process::{Command, Stdio};

use super::launch::{Launch, arguments, environment};
use super::{AnsibleError, Install};
use crate::env::Env;

/// What the check said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Accepted {
        warnings: Vec<String>,
    },
    /// The error's text, paths relative to the content, with line and column
    /// where Ansible names them.
    Refused(String),
}

/// Runs `ansible-playbook --syntax-check` in `launch.workdir`.
pub fn check(launch: &Launch<'_>, env: &Env) -> Result<Verdict, AnsibleError> {
    let install: &Install = launch.install;
    let output = Command::new(install.path())
        .args(arguments(launch))
        .arg("--syntax-check")
        .current_dir(launch.workdir)
        .env_clear()
        .envs(environment(env, launch))
        .stdin(Stdio::null())
        .output()
        .map_err(|source| AnsibleError::Spawn {
            path: install.path().to_owned(),
            source,
        })?;
    let said = String::from_utf8_lossy(&output.stderr);
    Ok(if output.status.success() {
        Verdict::Accepted {
            warnings: warnings(&said),
        }
    } else {
        Verdict::Refused(error_text(&said, launch.workdir))
    })
}

/// `[WARNING]: text`, continued on lines that begin with a space.
fn warnings(said: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in said.lines() {
        if let Some(text) = line.strip_prefix("[WARNING]: ") {
            found.push(text.trim().to_owned());
        }
    }
    // These speak of the check's own inventory, not of the playbook.
    found.retain(|w| {
        !w.contains("provided hosts list is empty") && !w.contains("No inventory was parsed")
    });
    found
}

/// The first error with its origin, without Ansible's picture of the source.
pub fn error_text(said: &str, workdir: &Path) -> String {
    let prefix = format!("{}/", workdir.display());
    let mut message = None;
    let mut origin = None;
    for line in said.lines() {
        let line = line.trim().replace(&prefix, "");
        if let Some(text) = line
            .strip_prefix("[ERROR]: ")
            .or(line.strip_prefix("ERROR! "))
        {
            message.get_or_insert(text.trim().to_owned());
        } else if let Some(place) = line.strip_prefix("Origin: ") {
            origin.get_or_insert(place.trim().to_owned());
        }
    }
    match (message, origin) {
        (Some(m), Some(o)) => format!("{o}: {m}"),
        (Some(m), None) => m,
        (None, _) => said
            .lines()
            .map(str::trim)
            .rfind(|l| !l.is_empty())
            .unwrap_or("ansible-playbook gave no reason")
            .replace(&prefix, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_named_with_line_and_column() {
        let said = "[ERROR]: YAML parsing failed: did not find expected '-' indicator.\nOrigin: /run/x/playbook.yml:5:6\n\n3   tasks:\n";
        assert_eq!(
            error_text(said, Path::new("/run/x")),
            "playbook.yml:5:6: YAML parsing failed: did not find expected '-' indicator."
        );
        assert_eq!(
            error_text("", Path::new("/")),
            "ansible-playbook gave no reason"
        );
    }
}
