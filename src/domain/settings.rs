//! Every setting: name, type, default, meaning.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};
use thiserror::Error;

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
}

impl fmt::Display for SettingType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            SettingType::Count => "count",
            SettingType::Number => "number",
            SettingType::UidRange => "uid_range",
            SettingType::Path => "path",
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

pub const ALLOC_UID_RANGE: &str = "alloc.uid_range";
pub const ANSIBLE_PLAYBOOK: &str = "ansible.playbook_path";
pub const DATA_RETENTION_DAYS: &str = "data.retention_days";
pub const RUNS_HOST_WAIT: &str = "runs.host_wait_seconds";
pub const RUNS_MAX_CONCURRENT: &str = "runs.max_concurrent";
pub const RUNS_OUTPUT_MAX: &str = "runs.output_max_bytes";
pub const SSH_PRIVATE_KEY: &str = "ssh.private_key_file";

/// In the order of their names.
pub const DEFINITIONS: &[Definition] = &[
    def(
        ALLOC_UID_RANGE,
        SettingType::UidRange,
        "20000-59999",
        "UIDs that allocations get, the same on every host",
    ),
    def(
        ANSIBLE_PLAYBOOK,
        SettingType::Path,
        "",
        "the ansible-playbook to use; empty: the one on PATH if it is new enough, else the private one",
    ),
    def(
        DATA_RETENTION_DAYS,
        SettingType::Count,
        "90",
        "days after which `runs prune` removes runs, their output, and events",
    ),
    def(
        RUNS_HOST_WAIT,
        SettingType::Number,
        "3600",
        "seconds for which a queued run waits for its hosts",
    ),
    def(
        RUNS_MAX_CONCURRENT,
        SettingType::Count,
        "4",
        "runs that may execute at once",
    ),
    def(
        RUNS_OUTPUT_MAX,
        SettingType::Count,
        "1048576",
        "bytes of Ansible's output that are stored for each run",
    ),
    def(
        SSH_PRIVATE_KEY,
        SettingType::Path,
        "",
        "private key for the servers' admin users; empty: what ssh itself finds (agent, ~/.ssh)",
    ),
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
        .find(|d| d.name == name)
        .ok_or_else(|| SettingError::Unknown(name.escape_debug().to_string()))
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
        }
    }

    /// A checked value in its JSON type.
    pub fn json(&self, value: &str) -> Value {
        match self.kind {
            SettingType::Count | SettingType::Number => value
                .parse::<u64>()
                .map_or_else(|_| json!(value), |n| json!(n)),
            SettingType::UidRange | SettingType::Path => json!(value),
        }
    }
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
        let check = |n: &str, v: &str| find(n).unwrap().check(v);
        assert!(check(RUNS_MAX_CONCURRENT, "0").is_err());
        assert!(check(RUNS_MAX_CONCURRENT, "-1").is_err());
        assert_eq!(check(RUNS_HOST_WAIT, "0").unwrap(), "0");
        assert!(check(ALLOC_UID_RANGE, "30000-20000").is_err());
        assert!(check(ALLOC_UID_RANGE, "0-20000").is_err());
        assert!(check(SSH_PRIVATE_KEY, "id_ed25519").is_err());
        assert!(find("nope").is_err());
    }
}
