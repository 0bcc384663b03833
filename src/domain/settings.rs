//! Every setting: name, type, default, meaning.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};
use thiserror::Error;

use crate::domain::lifecycle::Lifecycle;
use crate::domain::name::PlaybookName;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingType {
    /// A whole number, at least 1.
    Count,
    /// A whole number, 0 allowed.
    Number,
    /// FIRST-LAST, both UIDs.
    UidRange,
    /// An absolute path, or empty.
    Path,
    /// An absolute path of a directory, which need not be there yet.
    Dir,
    /// `true` or `false`.
    Flag,
    /// The name of a playbook.
    Playbook,
    /// The name of a playbook, or empty.
    OptionalPlaybook,
}

impl fmt::Display for SettingType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            SettingType::Count => "count",
            SettingType::Number => "number",
            SettingType::UidRange => "uid_range",
            SettingType::Path => "path",
            SettingType::Dir => "dir",
            SettingType::Flag => "flag",
            SettingType::Playbook => "playbook",
            SettingType::OptionalPlaybook => "optional_playbook",
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Definition {
    pub name: &'static str,
    #[serde(rename = "type")]
    pub kind: SettingType,
    pub default: &'static str,
    pub description: &'static str,
    pub secret: bool,
}

const fn def(
    name: &'static str,
    kind: SettingType,
    default: &'static str,
    description: &'static str,
) -> Definition {
    Definition {
        name,
        kind,
        default,
        description,
        secret: false,
    }
}

pub static ALLOC_UID_RANGE: Definition = def(
    "alloc.uid_range",
    SettingType::UidRange,
    "20000-59999",
    "UIDs that allocations get, the same on every host",
);
pub static ANSIBLE_PLAYBOOK: Definition = def(
    "ansible.playbook_path",
    SettingType::Path,
    "",
    "the ansible-playbook to use; empty: the one on PATH if it is new enough, else the private one",
);
pub static DATA_RETENTION_DAYS: Definition = def(
    "data.retention_days",
    SettingType::Count,
    "90",
    "days after which `runs prune` removes runs, their output, and events",
);
pub static HOOK_CLEANUP: Definition = def(
    "playbooks.ssh_credential_hook.cleanup_playbook",
    SettingType::OptionalPlaybook,
    "SSH_CREDENTIAL_CLEANUP",
    "playbook that takes the SSH credentials of a run back at its end; empty: none",
);
pub static HOOK_DIR_ROOT: Definition = def(
    "playbooks.ssh_credential_hook.dir_root",
    SettingType::Dir,
    "/tmp/cpkit/jobs",
    "where each run gets a directory for its SSH credentials, gone after its end",
);
pub static HOOK_ENABLED: Definition = def(
    "playbooks.ssh_credential_hook.enabled",
    SettingType::Flag,
    "false",
    "whether each run logs in with SSH credentials of its own, made by the prepare playbook",
);
pub static HOOK_PREPARE: Definition = def(
    "playbooks.ssh_credential_hook.prepare_playbook",
    SettingType::Playbook,
    "SSH_CREDENTIAL_PREPARE",
    "playbook that makes the SSH credentials of a run before it",
);
pub static HOOK_RETAIN: Definition = def(
    "playbooks.ssh_credential_hook.retain_artifacts_on_failure",
    SettingType::Flag,
    "false",
    "whether the SSH credentials of a run that did not succeed stay where they are",
);
pub static RUNS_HOST_WAIT: Definition = def(
    "runs.host_wait_seconds",
    SettingType::Number,
    "3600",
    "seconds for which a queued run waits for its hosts",
);
pub static RUNS_MAX_CONCURRENT: Definition = def(
    "runs.max_concurrent",
    SettingType::Count,
    "4",
    "runs that may execute at once",
);
pub static RUNS_OUTPUT_MAX: Definition = def(
    "runs.output_max_bytes",
    SettingType::Count,
    "1048576",
    "bytes of Ansible's output that are stored for each run",
);
pub static SSH_PRIVATE_KEY: Definition = def(
    "ssh.private_key_file",
    SettingType::Path,
    "",
    "private key for the servers' admin users; empty: what ssh itself finds (agent, ~/.ssh)",
);

/// In the order of their names.
pub static DEFINITIONS: &[&Definition] = &[
    &ALLOC_UID_RANGE,
    &ANSIBLE_PLAYBOOK,
    &DATA_RETENTION_DAYS,
    &HOOK_CLEANUP,
    &HOOK_DIR_ROOT,
    &HOOK_ENABLED,
    &HOOK_PREPARE,
    &HOOK_RETAIN,
    &RUNS_HOST_WAIT,
    &RUNS_MAX_CONCURRENT,
    &RUNS_OUTPUT_MAX,
    &SSH_PRIVATE_KEY,
];

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingError {
    #[error("there is no setting `{0}`")]
    Unknown(String),
    #[error("`{value}` is not a value for {name}: {expected}")]
    Value {
        name: &'static str,
        value: String,
        expected: &'static str,
    },
}

pub fn find(name: &str) -> Result<&'static Definition, SettingError> {
    DEFINITIONS
        .iter()
        .copied()
        .find(|d| d.name == name)
        .ok_or_else(|| SettingError::Unknown(name.escape_debug().to_string()))
}

/// By its name.
impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

impl Definition {
    /// Checks a value and gives its one spelling.
    pub fn check(&self, value: &str) -> Result<String, SettingError> {
        let wrong = |expected| SettingError::Value {
            name: self.name,
            value: value.escape_debug().to_string(),
            expected,
        };
        match self.kind {
            SettingType::Count => match value.parse::<u32>() {
                Ok(n) if n > 0 => Ok(n.to_string()),
                _ => Err(wrong("a whole number from 1 to 4294967295 is expected")),
            },
            SettingType::Number => match value.parse::<u32>() {
                Ok(n) => Ok(n.to_string()),
                Err(_) => Err(wrong("a whole number from 0 to 4294967295 is expected")),
            },
            SettingType::UidRange => match uid_range(value) {
                Some((a, b)) => Ok(format!("{a}-{b}")),
                None => Err(wrong(
                    "FIRST-LAST is expected, both between 1000 and 4294967293",
                )),
            },
            SettingType::Path => {
                if value.is_empty()
                    || (value.starts_with('/')
                        && !value.contains('\0')
                        && !value.chars().any(char::is_control))
                {
                    Ok(value.to_owned())
                } else {
                    Err(wrong("an absolute path is expected"))
                }
            }
            SettingType::Dir => dir(value).ok_or_else(|| {
                wrong("an absolute path is expected, without `..`, quotes, %, $ and the like")
            }),
            SettingType::Flag => match value.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" => Ok("true".to_owned()),
                "false" | "no" | "off" => Ok("false".to_owned()),
                _ => Err(wrong("true or false is expected")),
            },
            SettingType::OptionalPlaybook if value.is_empty() => Ok(String::new()),
            SettingType::Playbook | SettingType::OptionalPlaybook => {
                match PlaybookName::parse(value) {
                    Ok(_) if Lifecycle::of_playbook(value).is_some() => {
                        Err(wrong("a lifecycle playbook cannot be a hook"))
                    }
                    Ok(name) => Ok(name.to_string()),
                    Err(_) => Err(wrong("the name of a playbook is expected")),
                }
            }
        }
    }

    /// A checked value in its JSON type.
    pub fn json(&self, value: &str) -> Value {
        match self.kind {
            SettingType::Count | SettingType::Number => value
                .parse::<u64>()
                .map_or_else(|_| json!(value), |n| json!(n)),
            SettingType::Flag => json!(value == "true"),
            SettingType::UidRange
            | SettingType::Path
            | SettingType::Dir
            | SettingType::Playbook
            | SettingType::OptionalPlaybook => json!(value),
        }
    }
}

/// In one spelling. It becomes part of ssh options, where these characters
/// mean something.
fn dir(value: &str) -> Option<String> {
    let plain = !value
        .chars()
        .any(|c| c.is_control() || "\"'\\%${}`~".contains(c));
    let parts: Vec<&str> = value.strip_prefix('/')?.split('/').collect();
    let parts: Vec<&str> = parts
        .into_iter()
        .filter(|p| !p.is_empty() && *p != ".")
        .collect();
    (plain && !parts.is_empty() && !parts.contains(&"..")).then(|| format!("/{}", parts.join("/")))
}

/// First and last UID of `FIRST-LAST`.
pub fn uid_range(value: &str) -> Option<(u32, u32)> {
    let (a, b) = value.split_once('-')?;
    let (a, b) = (a.parse::<u32>().ok()?, b.parse::<u32>().ok()?);
    // The last two numbers mean "nobody" and "no change" to the kernel.
    (1000 <= a && a <= b && b < u32::MAX - 1).then_some((a, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_and_sorted() {
        for d in DEFINITIONS {
            assert_eq!(d.check(d.default).as_deref(), Ok(d.default), "{}", d.name);
        }
        assert!(DEFINITIONS.windows(2).all(|w| w[0].name < w[1].name));
    }

    #[test]
    fn values_are_checked_by_type() {
        assert!(RUNS_MAX_CONCURRENT.check("0").is_err());
        assert!(RUNS_MAX_CONCURRENT.check("-1").is_err());
        assert_eq!(RUNS_HOST_WAIT.check("0").unwrap(), "0");
        assert!(ALLOC_UID_RANGE.check("30000-20000").is_err());
        assert!(ALLOC_UID_RANGE.check("0-20000").is_err());
        assert!(SSH_PRIVATE_KEY.check("id_ed25519").is_err());
        assert_eq!(HOOK_ENABLED.check("Yes").unwrap(), "true");
        assert!(HOOK_ENABLED.check("1").is_err());
        assert_eq!(HOOK_CLEANUP.check("").unwrap(), "");
        assert!(HOOK_PREPARE.check("").is_err());
        assert!(HOOK_PREPARE.check("ALLOCATION_DELETE").is_err());
        assert_eq!(
            HOOK_DIR_ROOT.check("/run//keys/./x/").unwrap(),
            "/run/keys/x"
        );
        for wrong in ["", "/", "keys", "/a/../b", "/a\"b", "/a%h"] {
            assert!(HOOK_DIR_ROOT.check(wrong).is_err(), "{wrong}");
        }
        assert!(find("nope").is_err());
    }
}
