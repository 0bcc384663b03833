//! What a run tells while it goes on. The display, the plain lines, the JSON
//! stream and the recorder are all subscribers of these same events.

use serde::Serialize;

use crate::domain::name::PlaybookName;
use crate::domain::run::{Requester, RunEnding, RunId, RunStatus};
use crate::domain::time::Timestamp;
use crate::domain::transition::status_enum;

/// Number of a task within its run, from 1, in the order of first start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct TaskNo(pub u32);

status_enum! {
    ResultStatus {
        Ok = "ok",
        Changed = "changed",
        Failed = "failed",
        /// Failed in a block whose rescue section goes on.
        Rescued = "rescued",
        /// Failed, and `ignore_errors` let the play go on.
        Ignored = "ignored",
        Unreachable = "unreachable",
        Skipped = "skipped",
    }
}

status_enum! {
    OutputStream {
        Stdout = "stdout",
        Stderr = "stderr",
    }
}

/// What a queued run waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WaitsFor {
    /// A host's name as shown, or None for a free slot.
    pub host: Option<String>,
    /// The run that has it, if known.
    pub run: Option<RunId>,
    pub requester: Option<Requester>,
    pub since: Option<Timestamp>,
}

/// A host of the run, as Ansible resolved it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunHost {
    /// The inventory name.
    pub name: String,
    pub address: String,
    pub port: Option<u16>,
}

/// Final counts of one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct HostCounts {
    pub host: String,
    pub ok: u32,
    pub changed: u32,
    pub failed: u32,
    pub unreachable: u32,
    pub skipped: u32,
    pub rescued: u32,
    pub ignored: u32,
}

impl HostCounts {
    pub fn named(host: impl Into<String>) -> Self {
        HostCounts {
            host: host.into(),
            ..HostCounts::default()
        }
    }

    /// "changed", "ok", "failed", "unreachable", "skipped": the host's one word.
    pub fn verdict(&self) -> &'static str {
        if self.failed > 0 {
            "failed"
        } else if self.unreachable > 0 {
            "unreachable"
        } else if self.changed > 0 {
            "changed"
        } else if self.ok + self.rescued > 0 {
            "ok"
        } else if self.skipped > 0 {
            "skipped"
        } else {
            "no result"
        }
    }
}

/// A task that was going on at a host when the run was cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InFlight {
    pub host: String,
    pub task: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunEvent {
    /// The run is recorded; nothing has been started.
    Requested {
        run: RunId,
        playbook: PlaybookName,
        version: u32,
        digest: String,
        check: bool,
        /// "server lab1", "allocation web"; None for `run`.
        subject: Option<String>,
        /// Milliseconds that this playbook's last successful run took, and
        /// how many task starts it had.
        expected_ms: Option<u64>,
        expected_tasks: Option<u32>,
    },
    /// Emitted whenever what it waits for changes.
    Queued {
        waits_for: Vec<WaitsFor>,
    },
    /// Ansible is up.
    Started {
        ansible_version: String,
    },
    /// All hosts of all plays that are known at the start, claimed.
    Claimed {
        hosts: Vec<RunHost>,
    },
    PlayStarted {
        name: String,
        pattern: String,
        hosts: Vec<String>,
    },
    /// A play matched no host.
    PlayEmpty {
        name: String,
        pattern: String,
    },
    TaskStarted {
        task: TaskNo,
        name: String,
        /// The module, as in "ansible.builtin.apt".
        action: String,
        handler: bool,
        /// How long it took in this playbook's history.
        expected_ms: Option<u64>,
    },
    HostStarted {
        task: TaskNo,
        host: String,
    },
    HostResult {
        task: TaskNo,
        host: String,
        status: ResultStatus,
        changed: bool,
        duration_ms: u64,
        /// The host that was worked on in its place.
        #[serde(skip_serializing_if = "Option::is_none")]
        delegate: Option<String>,
        /// Why it failed, was skipped or unreachable, or what a debug task
        /// says; one or more lines.
        message: Option<String>,
    },
    /// What a change is, or would be; with `--diff` only. It is stored as part
    /// of the output.
    Diff {
        task: TaskNo,
        host: String,
        text: String,
    },
    /// From Ansible, a playbook's result, or the runner.
    Warning {
        text: String,
    },
    /// Ansible's own output, control sequences removed, lossy UTF-8.
    Output {
        stream: OutputStream,
        text: String,
    },
    Stats {
        hosts: Vec<HostCounts>,
    },
    Cancelling {
        /// "INT", "TERM", "HUP", or "kloigos runs cancel".
        by: String,
        in_flight: Vec<InFlight>,
    },
    /// The last one.
    Finished {
        run: RunId,
        status: RunStatus,
        ending: RunEnding,
        exit_code: u8,
        elapsed_ms: u64,
        reason: Option<String>,
        /// What to do about it, where that is known.
        hint: Option<String>,
        in_flight: Vec<InFlight>,
        hosts: Vec<HostCounts>,
    },
}
