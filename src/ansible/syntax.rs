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
    let mut yaml_said = false;
    for line in said.lines() {
        let line = line.trim().replace(&prefix, "");
        if let Some(text) = line
            .strip_prefix("[ERROR]: ")
            .or(line.strip_prefix("ERROR! "))
        {
            message.get_or_insert(text.trim().to_owned());
        } else if let Some(place) = line.strip_prefix("Origin: ") {
            origin.get_or_insert(place.trim().to_owned());
        } else if let Some(place) = line.strip_prefix("The error appears to be in '") {
            if let Some(place) = place_before_2_19(place) {
                origin.get_or_insert(place);
            }
        } else if yaml_said && !line.is_empty() {
            // Before this it only said that it tried JSON as well.
            message = Some(format!("YAML parsing failed: {line}"));
            yaml_said = false;
        } else if line == "Syntax Error while loading YAML." {
            yaml_said = true;
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

/// `PATH': line 7, column 5, but may` …
fn place_before_2_19(text: &str) -> Option<String> {
    let (path, rest) = text.split_once("': line ")?;
    let (line, rest) = rest.split_once(", column ")?;
    let column: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some(format!("{path}:{line}:{column}"))
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
        let before_2_19 = "[WARNING]: No inventory was parsed\nERROR! We were unable to read either as JSON nor YAML, these are the errors we got from each:\nJSON: Expecting value: line 1 column 1 (char 0)\n\nSyntax Error while loading YAML.\n  did not find expected ',' or '}'\n\nThe error appears to be in '/run/x/playbook.yml': line 7, column 5, but may\nbe elsewhere in the file depending on the exact syntax problem.\n";
        assert_eq!(
            error_text(before_2_19, Path::new("/run/x")),
            "playbook.yml:7:5: YAML parsing failed: did not find expected ',' or '}'"
        );
        let module = "ERROR! couldn't resolve module/action 'nosuch'.\n\nThe error appears to be in '/run/x/roles/a/tasks/main.yml': line 5, column 17, but may\n";
        assert_eq!(
            error_text(module, Path::new("/run/x")),
            "roles/a/tasks/main.yml:5:17: couldn't resolve module/action 'nosuch'."
        );
        assert_eq!(
            error_text("", Path::new("/")),
            "ansible-playbook gave no reason"
        );
    }
}
