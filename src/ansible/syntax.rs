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
    /// `hosts:` needs what only the run will have: the error's text, and the
    /// variable where it is just that.
    UndefinedHosts {
        text: String,
        variable: Option<String>,
    },
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
            warnings: warnings(&said, launch.workdir),
        }
    } else {
        let text = error_text(&said, launch.workdir);
        match undefined_hosts(&text, launch.workdir) {
            None => Verdict::Refused(text),
            Some(variable) => Verdict::UndefinedHosts { text, variable },
        }
    })
}

/// Whether it is only a value that keeps Ansible from knowing the hosts of a
/// play; and which variable has none, where Ansible names one.
fn undefined_hosts(text: &str, workdir: &Path) -> Option<Option<String>> {
    let variable = text.split_once("' is undefined").and_then(|(before, _)| {
        let name = before.rsplit('\'').next()?;
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        (!name.is_empty() && name.chars().all(word)).then(|| name.to_owned())
    });
    // Before 2.19.
    if text.contains("The field 'hosts' has an invalid value, which includes an undefined variable")
    {
        return Some(variable);
    }
    // A play without a name is named after its hosts.
    let of_hosts = ["hosts", "name"]
        .iter()
        .any(|word| text.contains(&format!("Error processing keyword '{word}'")));
    if !of_hosts || text.contains("yntax error") {
        return None;
    }
    // A value that is wrong as it stands is not made right by a variable.
    (variable.is_some() || is_template(text, workdir)).then_some(variable)
}

/// Whether the line at the head of `PATH:LINE:COLUMN: text` has a template.
fn is_template(text: &str, workdir: &Path) -> bool {
    let mut parts = text.splitn(3, ':');
    let (Some(path), Some(line)) = (parts.next(), parts.next()) else {
        return false;
    };
    let (Ok(line), Ok(bytes)) = (line.parse::<usize>(), crate::fs::read(&workdir.join(path)))
    else {
        return false;
    };
    String::from_utf8_lossy(&bytes)
        .lines()
        .nth(line.saturating_sub(1))
        .is_some_and(|l| l.contains("{{") || l.contains("{%"))
}

/// `[WARNING]: text`, with its origin where one follows.
fn warnings(said: &str, workdir: &Path) -> Vec<String> {
    let prefix = format!("{}/", workdir.display());
    let mut found: Vec<String> = Vec::new();
    let mut last_is_warning = false;
    for line in said.lines() {
        if let Some(text) = line.strip_prefix("[WARNING]: ") {
            found.push(text.trim().replace(&prefix, ""));
        } else if let Some(place) = line.strip_prefix("Origin: ")
            && last_is_warning
            && let Some(text) = found.last_mut()
        {
            *text = format!("{}: {text}", place.trim().replace(&prefix, ""));
        }
        last_is_warning = line.starts_with("[WARNING]: ");
    }
    // These speak of the check's own inventory, not of the playbook.
    found.retain(|w| {
        ![
            "provided hosts list is empty",
            "No inventory was parsed",
            "Could not match supplied host pattern",
        ]
        .iter()
        .any(|about| w.contains(about))
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
            // Warnings come first and have places of their own.
            if message.is_some() && place.trim() != "<unknown>" {
                origin.get_or_insert(place.trim().to_owned());
            }
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
    fn hosts_that_only_the_run_will_know_are_told_from_mistakes() {
        let dir = tempfile::tempdir().unwrap();
        let text = "- hosts: \"{{ groups['web'] }}\"\n- hosts: []\n";
        std::fs::write(dir.path().join("p.yml"), text).unwrap();
        let known = |text: &str| undefined_hosts(text, dir.path());
        let variable = |name: &str| Some(Some(name.to_owned()));
        for (said, expected) in [
            (
                "p.yml:1:10: Error processing keyword 'hosts': 'target' is undefined",
                variable("target"),
            ),
            (
                "p.yml:1:10: Error processing keyword 'name': 'target' is undefined",
                variable("target"),
            ),
            (
                "p.yml:2:3: The field 'hosts' has an invalid value, which includes an undefined variable. The error was: 'target' is undefined. 'target' is undefined",
                variable("target"),
            ),
            (
                "p.yml:1:10: Error processing keyword 'hosts': object of type 'dict' has no attribute 'web'",
                Some(None),
            ),
            (
                "p.yml:1:10: Error processing keyword 'hosts': Syntax error in template: unexpected",
                None,
            ),
            (
                "p.yml:2:10: Error processing keyword 'hosts': Keyword 'hosts' is required, and cannot have empty values.",
                None,
            ),
            ("p.yml:1:10: couldn't resolve module/action 'nosuch'.", None),
            ("Hosts list cannot be empty.", None),
        ] {
            assert_eq!(known(said), expected, "{said}");
        }
    }

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
        let after_a_warning = "[WARNING]: Found duplicate mapping key 'a'.\nOrigin: /run/x/playbook.yml:5:6\n\n[ERROR]: Invalid variable name 'True' of type 'bool'.\nOrigin: <unknown>\n";
        assert_eq!(
            error_text(after_a_warning, Path::new("/run/x")),
            "Invalid variable name 'True' of type 'bool'."
        );
        assert_eq!(
            error_text("", Path::new("/")),
            "ansible-playbook gave no reason"
        );
    }
}
