//! The tasks of a run and their results.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, params};
use serde::Serialize;

use super::{Runs, signed};
use crate::domain::name::PlaybookName;
use crate::domain::run::RunId;
use crate::domain::run_event::{ResultStatus, TaskNo};
use crate::domain::time::Timestamp;
use crate::store::StoreError;
use crate::store::values::{parsed, time};

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

impl Runs<'_> {
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
