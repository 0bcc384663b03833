//! What earlier runs did on a host.

use std::net::IpAddr;

use rusqlite::{OptionalExtension, params};
use serde::Serialize;

use super::Runs;
use crate::domain::name::PlaybookName;
use crate::domain::run::{RunId, RunStatus};
use crate::domain::time::Timestamp;
use crate::store::StoreError;
use crate::store::values::{parsed, time};

/// A run that changed something on a host.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostChange {
    pub run: RunId,
    /// Of the run's end.
    pub at: Timestamp,
    pub playbook: PlaybookName,
    pub version: u32,
    pub status: RunStatus,
    /// Tasks that changed something there.
    pub changed: u32,
}

impl Runs<'_> {
    /// Newest first: runs that changed the host under this name, or under any
    /// name at one of these addresses. No checks.
    pub fn changes_of(
        &self,
        host: &str,
        addresses: [IpAddr; 2],
        port: u16,
        limit: u32,
    ) -> Result<Vec<HostChange>, StoreError> {
        // UNION: a host that both halves find is one.
        self.0
            .conn()
            .prepare_cached(
                "SELECT r.id, coalesce(r.ended_at, r.started_at, r.queued_at) AS at, r.playbook,
                        r.version, r.status, sum(c.changed) AS changed
                 FROM (
                   SELECT * FROM (
                     SELECT h.run_id, h.host, h.changed FROM run_hosts h
                     CROSS JOIN runs x ON x.id = h.run_id
                     WHERE h.host = ?1 AND h.changed > 0 AND NOT x.check_mode
                     ORDER BY h.run_id DESC LIMIT ?5)
                   UNION
                   SELECT * FROM (
                     SELECT h.run_id, h.host, h.changed FROM run_hosts h
                     CROSS JOIN runs x ON x.id = h.run_id
                     WHERE h.address IN (?2, ?3) AND coalesce(h.port, 22) = ?4
                       AND h.changed > 0 AND NOT x.check_mode
                     ORDER BY h.run_id DESC LIMIT ?5)
                 ) c JOIN runs r ON r.id = c.run_id
                 GROUP BY r.id ORDER BY r.id DESC LIMIT ?5",
            )
            .and_then(|mut s| {
                let [a, b] = addresses.map(|a| a.to_string());
                s.query_map(params![host, a, b, port, limit], |row| {
                    Ok(HostChange {
                        run: RunId(row.get("id")?),
                        at: time(row, "at")?,
                        playbook: parsed(row, "playbook")?,
                        version: row.get("version")?,
                        status: parsed(row, "status")?,
                        changed: row.get("changed")?,
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
                    let cut = matches!(
                        parsed(r, "status")?,
                        RunStatus::Cancelled | RunStatus::Interrupted
                    );
                    Ok(cut.then_some(RunId(r.get("run_id")?)))
                })
                .optional()
            })
            .map(Option::flatten)
            .map_err(self.0.wrap())
    }
}
