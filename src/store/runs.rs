//! Runs, their hosts, tasks, results and output.

mod changes;
mod compare;
mod prune;

use std::collections::HashMap;
use std::ops::ControlFlow;

use rusqlite::types::Value;
use rusqlite::{OptionalExtension, Row, named_params, params, params_from_iter};
use serde::Serialize;

use super::values::{json, parsed, parsed_option, time, time_option};
use super::{StoreError, Tx};
use crate::domain::event::NewEvent;
use crate::domain::lifecycle::Lifecycle;
use crate::domain::name::PlaybookName;
use crate::domain::run::{Requester, Run, RunEnding, RunId, RunStatus};
use crate::domain::run_event::{HostCounts, OutputStream, ResultStatus, RunHost, TaskNo};
use crate::domain::time::Timestamp;
use crate::domain::transition::Change;

pub use changes::HostChange;
pub use compare::HostTask;
pub(in crate::store) use prune::OLD;

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

#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    pub status: Option<RunStatus>,
    pub host: Option<String>,
    pub playbook: Option<PlaybookName>,
    /// As in "allocation web".
    pub subject: Option<String>,
    /// Asked for at that time or later.
    pub since: Option<Timestamp>,
    /// Those that changed something: on `host`, if that is given. No checks.
    pub changed: bool,
    pub limit: Option<u32>,
}

/// One task of a run, its results counted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskSummary {
    pub task: TaskNo,
    pub play: String,
    pub name: String,
    pub action: String,
    pub started_at: Timestamp,
    /// The longest that it took on one host.
    pub duration_ms: u64,
    /// As Ansible counts: changed and ignored ones too.
    pub ok: u32,
    pub changed: u32,
    pub failed: u32,
    pub unreachable: u32,
    pub skipped: u32,
    pub rescued: u32,
    pub ignored: u32,
}

/// A failed or unreachable result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failure {
    pub host: String,
    pub task: String,
    pub status: ResultStatus,
    pub message: Option<String>,
}

/// What a playbook's last successful run took.
#[derive(Debug, Clone, Default)]
pub struct History {
    pub elapsed_ms: Option<u64>,
    pub tasks: Option<u32>,
    /// By task name, the longest that it took on one host.
    pub task_ms: HashMap<String, u64>,
}

#[derive(Debug, Clone)]
pub struct TaskRow {
    pub task: TaskNo,
    pub play: String,
    pub name: String,
    pub action: String,
    pub handler: bool,
    pub started_at: Timestamp,
}

#[derive(Debug, Clone)]
pub struct ResultRow {
    pub task: TaskNo,
    pub host: String,
    pub status: ResultStatus,
    pub changed: bool,
    pub duration_ms: u64,
    pub message: Option<String>,
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

    /// Newest first.
    pub fn list(&self, filter: &RunFilter) -> Result<Vec<Run>, StoreError> {
        self.select("r.*", filter, run)
    }

    /// As [`Runs::list`].
    pub fn ids(&self, filter: &RunFilter) -> Result<Vec<RunId>, StoreError> {
        self.select("r.id", filter, |row| Ok(RunId(row.get(0)?)))
    }

    fn select<T>(
        &self,
        what: &str,
        filter: &RunFilter,
        read: fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        // Only what is asked for stands in the query: each filter has an index
        // that also gives the order, so a limit ends the search early.
        let mut sql = format!("SELECT {what} FROM runs r");
        let mut values: Vec<Value> = Vec::new();
        let mut with = |value: Value| {
            values.push(value);
            values.len()
        };
        let mut conditions: Vec<String> = Vec::new();
        let mut order = "r.id";
        if let Some(host) = &filter.host {
            sql = format!("SELECT {what} FROM run_hosts h CROSS JOIN runs r ON r.id = h.run_id");
            order = "h.run_id";
            conditions.push(format!("h.host = ?{}", with(host.clone().into())));
            if filter.changed {
                conditions.push("h.changed > 0 AND NOT r.check_mode".to_owned());
            }
        } else if filter.changed {
            sql.push_str(" INDEXED BY runs_changed");
            conditions.push("r.changed_hosts > 0".to_owned());
        }
        if let Some(status) = filter.status {
            let status = status.as_str().to_owned().into();
            conditions.push(format!("r.status = ?{}", with(status)));
        }
        if let Some(playbook) = &filter.playbook {
            let playbook = playbook.as_str().to_owned().into();
            conditions.push(format!("r.playbook = ?{}", with(playbook)));
        }
        if let Some(subject) = &filter.subject {
            conditions.push(format!("r.subject = ?{}", with(subject.clone().into())));
        }
        if let Some(since) = filter.since {
            // Ids go up with time, but for clocks that were set back. The plus
            // keeps SQLite from looking for the least id along the ids.
            let n = with(since.0.into());
            conditions.push(format!(
                "{order} >= (SELECT min(+id) FROM runs WHERE queued_at >= ?{n}) AND r.queued_at >= ?{n}"
            ));
        }
        for (at, condition) in conditions.iter().enumerate() {
            sql.push_str(if at == 0 { " WHERE " } else { " AND " });
            sql.push_str(condition);
        }
        let limit = with(filter.limit.map_or(-1, i64::from).into());
        sql.push_str(&format!(" ORDER BY {order} DESC LIMIT ?{limit}"));
        self.0
            .conn()
            .prepare_cached(&sql)
            .and_then(|mut s| s.query_map(params_from_iter(values), read)?.collect())
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

    /// Hosts that the run touches, before any result of theirs.
    pub fn add_hosts(&self, id: RunId, hosts: &[RunHost]) -> Result<(), StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "INSERT INTO run_hosts (run_id, host, address, port) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (run_id, host) DO UPDATE SET address = excluded.address,
                   port = excluded.port",
            )
            .and_then(|mut s| {
                for h in hosts {
                    s.execute(params![id.0, h.name, h.address, h.port])?;
                }
                Ok(())
            })
            .map_err(self.0.wrap())
    }

    pub fn set_counts(&self, id: RunId, hosts: &[HostCounts]) -> Result<(), StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "INSERT INTO run_hosts (run_id, host, address, ok, changed, failed, unreachable,
                   skipped, rescued, ignored)
                 VALUES (?1, ?2, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
                 ON CONFLICT (run_id, host) DO UPDATE SET ok = excluded.ok,
                   changed = excluded.changed, failed = excluded.failed,
                   unreachable = excluded.unreachable, skipped = excluded.skipped,
                   rescued = excluded.rescued, ignored = excluded.ignored",
            )
            .and_then(|mut s| {
                for h in hosts {
                    s.execute(params![
                        id.0,
                        h.host,
                        h.ok,
                        h.changed,
                        h.failed,
                        h.unreachable,
                        h.skipped,
                        h.rescued,
                        h.ignored
                    ])?;
                }
                Ok(())
            })
            .map_err(self.0.wrap())
    }

    pub fn add_tasks(&self, id: RunId, tasks: &[TaskRow]) -> Result<(), StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "INSERT INTO run_tasks (run_id, task_no, play, name, action, handler, started_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )
            .and_then(|mut s| {
                for t in tasks {
                    s.execute(params![
                        id.0,
                        t.task.0,
                        t.play,
                        t.name,
                        t.action,
                        t.handler,
                        t.started_at.0
                    ])?;
                }
                Ok(())
            })
            .map_err(self.0.wrap())
    }

    /// `first_seq`: the run's number of results before these, plus one.
    pub fn add_results(
        &self,
        id: RunId,
        first_seq: u64,
        results: &[ResultRow],
    ) -> Result<(), StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "INSERT INTO run_results (run_id, seq, task_no, host, status, changed,
                   duration_ms, message)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )
            .and_then(|mut s| {
                for (seq, r) in (first_seq..).zip(results) {
                    s.execute(params![
                        id.0,
                        signed(seq),
                        r.task.0,
                        r.host,
                        r.status.as_str(),
                        r.changed,
                        signed(r.duration_ms),
                        r.message
                    ])?;
                }
                Ok(())
            })
            .map_err(self.0.wrap())
    }

    pub fn add_output(
        &self,
        id: RunId,
        seq: u64,
        stream: OutputStream,
        text: &str,
    ) -> Result<(), StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "INSERT INTO run_output (run_id, seq, stream, text) VALUES (?1, ?2, ?3, ?4)",
            )
            .and_then(|mut s| s.execute(params![id.0, signed(seq), stream.as_str(), text]))
            .map_err(self.0.wrap())?;
        Ok(())
    }

    /// By name. Of a run that did not get to its end, counted from its results.
    pub fn hosts(&self, id: RunId) -> Result<Vec<HostCounts>, StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "SELECT h.host AS host, h.ok AS ok, h.changed AS changed, h.failed AS failed,
                        h.unreachable AS unreachable, h.skipped AS skipped,
                        h.rescued AS rescued, h.ignored AS ignored,
                        r.ended_at IS NULL AS open,
                        (SELECT count(*) FROM run_results x WHERE x.run_id = h.run_id AND x.host = h.host AND x.status IN ('ok', 'changed', 'ignored')) AS n_ok,
                        (SELECT count(*) FROM run_results x WHERE x.run_id = h.run_id AND x.host = h.host AND x.changed) AS n_changed,
                        (SELECT count(*) FROM run_results x WHERE x.run_id = h.run_id AND x.host = h.host AND x.status = 'failed') AS n_failed,
                        (SELECT count(*) FROM run_results x WHERE x.run_id = h.run_id AND x.host = h.host AND x.status = 'unreachable') AS n_unreachable,
                        (SELECT count(*) FROM run_results x WHERE x.run_id = h.run_id AND x.host = h.host AND x.status = 'skipped') AS n_skipped
                 FROM run_hosts h JOIN runs r ON r.id = h.run_id
                 WHERE h.run_id = ?1 ORDER BY h.host",
            )
            .and_then(|mut s| {
                s.query_map([id.0], |row| {
                    let open: bool = row.get("open")?;
                    let count = |recorded: &str, counted: &str| {
                        row.get::<_, u32>(if open { counted } else { recorded })
                    };
                    Ok(HostCounts {
                        host: row.get("host")?,
                        ok: count("ok", "n_ok")?,
                        changed: count("changed", "n_changed")?,
                        failed: count("failed", "n_failed")?,
                        unreachable: count("unreachable", "n_unreachable")?,
                        skipped: count("skipped", "n_skipped")?,
                        rescued: row.get("rescued")?,
                        ignored: row.get("ignored")?,
                    })
                })?
                .collect()
            })
            .map_err(self.0.wrap())
    }

    /// In the order of their start.
    pub fn tasks(&self, id: RunId) -> Result<Vec<TaskSummary>, StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "SELECT t.task_no, t.play, t.name, t.action, t.started_at,
                        coalesce(max(r.duration_ms), 0) AS duration_ms,
                        coalesce(sum(r.status IN ('ok', 'changed', 'ignored')), 0) AS ok,
                        coalesce(sum(r.status = 'changed'), 0) AS changed,
                        coalesce(sum(r.status = 'failed'), 0) AS failed,
                        coalesce(sum(r.status = 'unreachable'), 0) AS unreachable,
                        coalesce(sum(r.status = 'skipped'), 0) AS skipped,
                        coalesce(sum(r.status = 'rescued'), 0) AS rescued,
                        coalesce(sum(r.status = 'ignored'), 0) AS ignored
                 FROM run_tasks t
                 LEFT JOIN run_results r ON r.run_id = t.run_id AND r.task_no = t.task_no
                 WHERE t.run_id = ?1 GROUP BY t.task_no ORDER BY t.task_no",
            )
            .and_then(|mut s| {
                s.query_map([id.0], |row| {
                    Ok(TaskSummary {
                        task: TaskNo(row.get("task_no")?),
                        play: row.get("play")?,
                        name: row.get("name")?,
                        action: row.get("action")?,
                        started_at: time(row, "started_at")?,
                        duration_ms: row
                            .get::<_, i64>("duration_ms")
                            .map(|n| u64::try_from(n).unwrap_or(0))?,
                        ok: row.get("ok")?,
                        changed: row.get("changed")?,
                        failed: row.get("failed")?,
                        unreachable: row.get("unreachable")?,
                        skipped: row.get("skipped")?,
                        rescued: row.get("rescued")?,
                        ignored: row.get("ignored")?,
                    })
                })?
                .collect()
            })
            .map_err(self.0.wrap())
    }

    /// The run before this one on the host, if it was cut short there.
    pub fn cut_before(&self, id: RunId, host: &str) -> Result<Option<RunId>, StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "SELECT h.run_id, r.status FROM run_hosts h JOIN runs r ON r.id = h.run_id
                 WHERE h.host = ?1 AND h.run_id < ?2 AND NOT r.check_mode
                 ORDER BY h.run_id DESC LIMIT 1",
            )
            .and_then(|mut s| {
                s.query_row(params![host, id.0], |r| {
                    let status: String = r.get(1)?;
                    let cut = ["cancelled", "interrupted"].contains(&status.as_str());
                    Ok(cut.then_some(RunId(r.get(0)?)))
                })
                .optional()
            })
            .map(Option::flatten)
            .map_err(self.0.wrap())
    }

    pub fn failures(&self, id: RunId) -> Result<Vec<Failure>, StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "SELECT r.host, r.status, r.message, t.name FROM run_results r
                 JOIN run_tasks t ON t.run_id = r.run_id AND t.task_no = r.task_no
                 WHERE r.run_id = ?1 AND r.status IN ('failed', 'unreachable') ORDER BY r.seq",
            )
            .and_then(|mut s| {
                s.query_map([id.0], |row| {
                    Ok(Failure {
                        host: row.get("host")?,
                        task: row.get("name")?,
                        status: parsed(row, "status")?,
                        message: row.get("message")?,
                    })
                })?
                .collect()
            })
            .map_err(self.0.wrap())
    }

    /// The stored output, piece by piece, until `f` breaks.
    pub fn output(
        &self,
        id: RunId,
        f: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.0
            .conn()
            .prepare_cached("SELECT text FROM run_output WHERE run_id = ?1 ORDER BY seq")
            .and_then(|mut s| {
                let mut rows = s.query([id.0])?;
                while let Some(row) = rows.next()? {
                    let text: String = row.get(0)?;
                    if f(&text).is_break() {
                        break;
                    }
                }
                Ok(())
            })
            .map_err(self.0.wrap())
    }

    /// What was stored after the piece `last`, with the number of each piece,
    /// until `f` breaks.
    pub fn output_after(
        &self,
        id: RunId,
        last: Option<i64>,
        f: &mut dyn FnMut(i64, OutputStream, &str) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "SELECT seq, stream, text FROM run_output WHERE run_id = ?1 AND seq > ?2
                 ORDER BY seq",
            )
            .and_then(|mut s| {
                let mut rows = s.query(params![id.0, last.unwrap_or(-1)])?;
                while let Some(row) = rows.next()? {
                    let text: String = row.get("text")?;
                    if f(row.get("seq")?, parsed(row, "stream")?, &text).is_break() {
                        break;
                    }
                }
                Ok(())
            })
            .map_err(self.0.wrap())
    }

    /// From the last run of the playbook that succeeded, checks apart.
    pub fn history(&self, playbook: &PlaybookName) -> Result<History, StoreError> {
        let conn = self.0.conn();
        let last: Option<(i64, i64)> = conn
            .prepare_cached(
                "SELECT id, ended_at - started_at FROM runs
                 WHERE playbook = ?1 AND status = 'success' AND NOT check_mode
                   AND started_at IS NOT NULL
                 ORDER BY id DESC LIMIT 1",
            )
            .and_then(|mut s| {
                s.query_row([playbook.as_str()], |r| Ok((r.get(0)?, r.get(1)?)))
                    .optional()
            })
            .map_err(self.0.wrap())?;
        let Some((id, elapsed)) = last else {
            return Ok(History::default());
        };
        let tasks = self.tasks(RunId(id))?;
        Ok(History {
            elapsed_ms: u64::try_from(elapsed).ok(),
            tasks: u32::try_from(tasks.len()).ok(),
            task_ms: tasks.into_iter().map(|t| (t.name, t.duration_ms)).collect(),
        })
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
