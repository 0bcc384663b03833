//! Runs: their states, endings and what is asked of them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::domain::lifecycle::Lifecycle;
use crate::domain::name::PlaybookName;
use crate::domain::time::Timestamp;
use crate::domain::transition::{Change, WrongState, status_enum};

/// 1, 2, 3 …
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub i64);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl std::str::FromStr for RunId {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        match s.parse::<i64>() {
            Ok(n) if n > 0 => Ok(RunId(n)),
            _ => Err("a run's id is a number: 1, 2, 3 …".to_owned()),
        }
    }
}

status_enum! {
    RunStatus {
        Queued = "queued",
        Running = "running",
        Success = "success",
        Failed = "failed",
        Interrupted = "interrupted",
        Cancelled = "cancelled",
    }
}

impl RunStatus {
    pub fn is_live(self) -> bool {
        matches!(self, RunStatus::Queued | RunStatus::Running)
    }
}

status_enum! {
    /// How a run ended, finer than its status: it decides the exit code.
    RunEnding {
        Success = "success",
        /// Success of a check that would have changed something.
        WouldChange = "would_change",
        TaskFailed = "task_failed",
        Unreachable = "unreachable",
        NoHosts = "no_hosts",
        /// A lifecycle run in which a target host gave no result.
        TargetMissed = "target_missed",
        /// Ansible itself stopped (syntax, missing role, vault …).
        AnsibleError = "ansible_error",
        /// A claim or slot was not had in time.
        ClaimTimeout = "claim_timeout",
        CancelledHup = "cancelled_hup",
        CancelledInt = "cancelled_int",
        CancelledTerm = "cancelled_term",
        /// Kloigos itself died; found by a later command.
        Interrupted = "interrupted",
    }
}

impl RunEnding {
    pub fn status(self) -> RunStatus {
        match self {
            RunEnding::Success | RunEnding::WouldChange => RunStatus::Success,
            RunEnding::TaskFailed
            | RunEnding::Unreachable
            | RunEnding::NoHosts
            | RunEnding::TargetMissed
            | RunEnding::AnsibleError
            | RunEnding::ClaimTimeout => RunStatus::Failed,
            RunEnding::CancelledHup | RunEnding::CancelledInt | RunEnding::CancelledTerm => {
                RunStatus::Cancelled
            }
            RunEnding::Interrupted => RunStatus::Interrupted,
        }
    }
}

impl RunEnding {
    pub fn is_failure(self) -> bool {
        self.status() != RunStatus::Success
    }

    /// Whether Ansible came to its end, and told each host's result.
    pub fn has_recap(self) -> bool {
        match self {
            RunEnding::Success
            | RunEnding::WouldChange
            | RunEnding::TaskFailed
            | RunEnding::Unreachable
            | RunEnding::NoHosts
            | RunEnding::TargetMissed => true,
            RunEnding::AnsibleError
            | RunEnding::ClaimTimeout
            | RunEnding::CancelledHup
            | RunEnding::CancelledInt
            | RunEnding::CancelledTerm
            | RunEnding::Interrupted => false,
        }
    }
}

/// Which user, host and process asked for the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Requester {
    pub user: String,
    pub host: String,
    pub pid: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Run {
    pub id: RunId,
    pub status: RunStatus,
    pub ending: Option<RunEnding>,
    pub playbook: PlaybookName,
    pub version: u32,
    /// sha256 of the version's content, hex.
    pub digest: String,
    pub lifecycle: Option<Lifecycle>,
    /// "server lab1", "allocation web"; None for `run`.
    pub subject: Option<String>,
    pub requester: Requester,
    pub check: bool,
    /// Options and variables as asked, secrets redacted: a JSON object.
    pub request: serde_json::Value,
    pub queued_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// Hosts that it has changed; none for a check.
    pub changed_hosts: u32,
    /// What the run's own process gave; None for runs of older builds.
    pub exit_code: Option<u8>,
    /// Ansible's own exit code, for information.
    pub ansible_exit: Option<i32>,
    /// One line: why it did not succeed.
    pub reason: Option<String>,
    /// What playbooks returned with `set_stats` under the key `kloigos`.
    pub data: Option<serde_json::Value>,
}

/// The reason recorded for a run, and for what it was doing, when its process
/// died.
pub const INTERRUPTED: &str = "the kloigos process of this run died before its end";

impl Run {
    /// As a reader shows it when its process has died: the next writing
    /// command records the same.
    pub fn as_interrupted(mut self) -> Self {
        if let Ok(change) = self.end(RunEnding::Interrupted) {
            self.status = change.to();
            self.ending = Some(RunEnding::Interrupted);
            self.reason = Some(INTERRUPTED.to_owned());
        }
        self
    }

    fn wrong(&self, action: &'static str) -> WrongState {
        WrongState::new(action, format!("run {}", self.id), self.status)
    }

    /// All claims and a slot are had.
    pub fn start(&self) -> Result<Change<RunStatus>, WrongState> {
        match self.status {
            RunStatus::Queued => Ok(Change::new(self.status, RunStatus::Running)),
            _ => Err(self.wrong("start")),
        }
    }

    /// Only what still lives can be asked to end.
    pub fn may_cancel(&self) -> Result<(), WrongState> {
        if self.status.is_live() {
            Ok(())
        } else {
            Err(self.wrong("cancel").hint(format!(
                "`kloigos runs show {}` tells how it ended",
                self.id
            )))
        }
    }

    pub fn end(&self, ending: RunEnding) -> Result<Change<RunStatus>, WrongState> {
        if self.status.is_live() {
            Ok(Change::new(self.status, ending.status()))
        } else {
            Err(self.wrong("end"))
        }
    }
}

/// How long a run may wait for its claims and a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wait {
    /// As `runs.host_wait_seconds` says.
    #[default]
    Setting,
    For(std::time::Duration),
    /// Not at all.
    No,
}

/// How a run ended, for whoever asked for it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunOutcome {
    pub run: RunId,
    pub status: RunStatus,
    pub ending: RunEnding,
    /// One line: why it did not succeed.
    pub reason: Option<String>,
    pub hosts: Vec<crate::domain::run_event::HostCounts>,
    /// `set_stats` data under the key `kloigos`.
    pub data: Option<serde_json::Value>,
}
