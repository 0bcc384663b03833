//! Runs: asked for, begun, ended; below, what belongs to each.

mod changes;
mod compare;
mod hosts;
mod output;
mod prune;
mod select;
mod tasks;

use rusqlite::{OptionalExtension, Row, named_params, params};

use super::values::{json, parsed, parsed_option, time, time_option};
use super::{StoreError, Tx};
use crate::domain::event::NewEvent;
use crate::domain::lifecycle::Lifecycle;
use crate::domain::name::PlaybookName;
use crate::domain::run::{Requester, Run, RunEnding, RunId, RunStatus};
use crate::domain::run_event::HostCounts;
use crate::domain::transition::Change;

pub use changes::HostChange;
pub use compare::HostTask;
pub(in crate::store) use prune::OLD;
pub use select::RunFilter;
pub use tasks::{Failure, History, ResultRow, TaskRow, TaskSummary};

pub struct Runs<'t>(pub(in crate::store) &'t Tx<'t>);

/// How an audit event names a run.
pub fn subject(run: RunId) -> String {
    format!("run {run}")
}

#[derive(Debug, Clone)]
pub struct NewRun<'a> {
    pub playbook: &'a PlaybookName,
    pub version: u32,
    pub digest: &'a str,
    pub lifecycle: Option<Lifecycle>,
    pub subject: Option<&'a str>,
    pub requester: &'a Requester,
    pub check: bool,
    pub request: &'a serde_json::Value,
}

/// How a run ended, as it is recorded.
#[derive(Debug, Clone)]
pub struct Ended<'a> {
    pub ending: RunEnding,
    pub reason: Option<&'a str>,
    pub ansible_exit: Option<i32>,
    pub data: Option<&'a serde_json::Value>,
    pub hosts: &'a [HostCounts],
    /// What the run's own process gives.
    pub exit_code: u8,
}

fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

impl Runs<'_> {
    /// A new one, queued.
    pub fn insert(&self, new: &NewRun<'_>) -> Result<RunId, StoreError> {
        self.0
            .conn()
            .execute(
                "INSERT INTO runs (status, playbook, version, digest, lifecycle, subject,
                   requester_user, requester_host, requester_pid, check_mode, request, queued_at)
                 VALUES (:status, :playbook, :version, :digest, :lifecycle, :subject,
                   :user, :host, :pid, :check, :request, :now)",
                named_params! {
                    ":status": RunStatus::Queued.as_str(),
                    ":playbook": new.playbook.as_str(),
                    ":version": new.version,
                    ":digest": new.digest,
                    ":lifecycle": new.lifecycle.map(Lifecycle::as_str),
                    ":subject": new.subject,
                    ":user": new.requester.user,
                    ":host": new.requester.host,
                    ":pid": new.requester.pid,
                    ":check": new.check,
                    ":request": new.request.to_string(),
                    ":now": self.0.now().0,
                },
            )
            .map_err(self.0.wrap())?;
        let id = RunId(self.0.conn().last_insert_rowid());
        self.0
            .events()
            .append(NewEvent::new("run.requested", subject(id)).run(id).detail(
                serde_json::json!({
                    "playbook": new.playbook,
                    "version": new.version,
                    "subject": new.subject,
                }),
            ))?;
        Ok(id)
    }

    pub fn get(&self, id: RunId) -> Result<Option<Run>, StoreError> {
        self.0
            .conn()
            .prepare_cached("SELECT * FROM runs WHERE id = ?1")
            .and_then(|mut s| s.query_row([id.0], run).optional())
            .map_err(self.0.wrap())
    }

    /// Queued and running ones by the store's word, oldest first.
    pub fn live(&self) -> Result<Vec<Run>, StoreError> {
        self.0
            .conn()
            .prepare_cached("SELECT * FROM runs WHERE status IN ('queued', 'running') ORDER BY id")
            .and_then(|mut s| s.query_map([], run)?.collect())
            .map_err(self.0.wrap())
    }

    /// All claims and a slot are had.
    pub fn start(&self, id: RunId, change: Change<RunStatus>) -> Result<(), StoreError> {
        let rows = self
            .0
            .conn()
            .execute(
                "UPDATE runs SET status = ?3, started_at = ?4 WHERE id = ?1 AND status = ?2",
                params![
                    id.0,
                    change.from().as_str(),
                    change.to().as_str(),
                    self.0.now().0
                ],
            )
            .map_err(self.0.wrap())?;
        self.0
            .status_event("run.status", subject(id), change, Some(id), None, rows)
    }

    pub fn end(
        &self,
        id: RunId,
        change: Change<RunStatus>,
        ended: &Ended<'_>,
    ) -> Result<(), StoreError> {
        let rows = self
            .0
            .conn()
            .execute(
                "UPDATE runs SET status = ?3, ending = ?4, reason = ?5, ansible_exit = ?6,
                   data = ?7, ended_at = ?8, exit_code = ?9,
                   changed_hosts = iif(check_mode, 0, ?10)
                 WHERE id = ?1 AND status = ?2",
                params![
                    id.0,
                    change.from().as_str(),
                    change.to().as_str(),
                    ended.ending.as_str(),
                    ended.reason,
                    ended.ansible_exit,
                    ended.data.map(serde_json::Value::to_string),
                    self.0.now().0,
                    ended.exit_code,
                    signed(ended.hosts.iter().filter(|h| h.changed > 0).count() as u64)
                ],
            )
            .map_err(self.0.wrap())?;
        self.set_counts(id, ended.hosts)?;
        self.0.status_event(
            "run.status",
            subject(id),
            change,
            Some(id),
            ended.reason,
            rows,
        )
    }
}

fn run(row: &Row<'_>) -> rusqlite::Result<Run> {
    let data: Option<String> = row.get("data")?;
    Ok(Run {
        id: RunId(row.get("id")?),
        status: parsed(row, "status")?,
        ending: parsed_option(row, "ending")?,
        playbook: parsed(row, "playbook")?,
        version: row.get("version")?,
        digest: row.get("digest")?,
        lifecycle: parsed_option(row, "lifecycle")?,
        subject: row.get("subject")?,
        requester: Requester {
            user: row.get("requester_user")?,
            host: row.get("requester_host")?,
            pid: row.get("requester_pid")?,
        },
        check: row.get("check_mode")?,
        request: json(row, "request")?,
        queued_at: time(row, "queued_at")?,
        started_at: time_option(row, "started_at")?,
        ended_at: time_option(row, "ended_at")?,
        changed_hosts: row.get("changed_hosts")?,
        exit_code: row.get("exit_code")?,
        ansible_exit: row.get("ansible_exit")?,
        reason: row.get("reason")?,
        data: data.and_then(|d| serde_json::from_str(&d).ok()),
    })
}
