//! What the callback plugin says, line by line.

use serde::Deserialize;

use crate::domain::run_event::{HostCounts, ResultStatus};

/// A host of a play as Ansible resolved it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PlayHost {
    pub name: String,
    pub address: String,
    pub port: Option<u16>,
    /// "ssh", "local", …
    pub connection: String,
    /// As whom it is logged into.
    #[serde(default)]
    pub user: Option<String>,
    /// The localhost that no inventory names.
    pub implicit: bool,
    /// Only worked on in place of another, which has the results.
    #[serde(default)]
    pub delegate: bool,
}

impl PlayHost {
    /// Reached without leaving this machine; its address means nothing.
    pub fn is_local(&self) -> bool {
        self.connection == "local" || self.connection.ends_with(".local")
    }

    /// Its address, or its name where an address means nothing: an extra
    /// variable ansible_host reaches the local machine too.
    pub fn reached_at(&self) -> &str {
        if self.is_local() {
            &self.name
        } else {
            &self.address
        }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Message {
    Start {
        ansible_version: String,
    },
    /// Ansible waits for an answer before it touches these hosts.
    Claim {
        hosts: Vec<PlayHost>,
    },
    Play {
        name: String,
        pattern: String,
        hosts: Vec<String>,
    },
    NoHosts,
    /// It would have gone past a question that nobody answered, and ends.
    Refused {
        text: String,
        /// What `-e` would answer.
        variables: Vec<String>,
        /// Whether it is a question that stands in the way.
        asks: bool,
    },
    Task {
        task: u32,
        name: String,
        action: String,
        handler: bool,
    },
    Host {
        task: u32,
        host: String,
    },
    Result {
        task: u32,
        host: String,
        #[serde(deserialize_with = "status")]
        status: ResultStatus,
        changed: bool,
        duration_ms: u64,
        #[serde(default)]
        delegate: Option<String>,
        message: Option<String>,
    },
    /// What a change of a file is, or would be; with `--diff` only.
    Diff {
        task: u32,
        host: String,
        text: String,
    },
    Warning {
        text: String,
    },
    Stats {
        hosts: Vec<Counts>,
        data: Option<serde_json::Value>,
    },
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Counts {
    pub host: String,
    pub ok: u32,
    pub changed: u32,
    pub failed: u32,
    pub unreachable: u32,
    pub skipped: u32,
    pub rescued: u32,
    pub ignored: u32,
}

impl From<Counts> for HostCounts {
    fn from(c: Counts) -> Self {
        HostCounts {
            host: c.host,
            ok: c.ok,
            changed: c.changed,
            failed: c.failed,
            unreachable: c.unreachable,
            skipped: c.skipped,
            rescued: c.rescued,
            ignored: c.ignored,
        }
    }
}

fn status<'de, D: serde::Deserializer<'de>>(d: D) -> Result<ResultStatus, D::Error> {
    let word = String::deserialize(d)?;
    word.parse().map_err(serde::de::Error::custom)
}

/// # Errors
/// For a line that is none of ours: another program wrote to the socket.
pub fn decode(line: &str) -> Result<Message, serde_json::Error> {
    serde_json::from_str(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_and_claims_are_read() {
        let m = decode(r#"{"task": 3, "host": "a", "status": "ignored", "changed": false, "duration_ms": 12, "message": "no", "event": "result"}"#).unwrap();
        assert!(matches!(
            m,
            Message::Result {
                task: 3,
                status: ResultStatus::Ignored,
                ..
            }
        ));
        let m = decode(r#"{"event": "claim", "hosts": [{"name": "a", "address": "10.0.0.1", "port": null, "connection": "ssh", "implicit": false}]}"#).unwrap();
        assert!(matches!(m, Message::Claim { hosts } if hosts[0].address == "10.0.0.1"));
        assert!(decode("{}").is_err());
        assert!(decode(r#"{"event": "result", "status": "odd"}"#).is_err());
    }
}
