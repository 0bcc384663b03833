//! Tickets: who waits for which host, in which order, and who has it.
//!
//! The kernel's file locks alone decide who has a host. Tickets keep the order
//! (a lower id first among tickets that share a host) and say whom one waits
//! for. A ticket of a run that is no longer live counts for nothing. One in
//! state 'slot' stands in the line for a slot, not for a host.

use rusqlite::{Row, params};

use super::values::time;
use super::{StoreError, Tx};
use crate::domain::run::{Requester, RunId};
use crate::domain::time::Timestamp;

pub struct Claims<'t>(pub(in crate::store) &'t Tx<'t>);

/// Another run's ticket on a host that one waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ahead {
    pub host_key: String,
    pub host_name: String,
    pub run: RunId,
    pub requester: Requester,
    pub since: Timestamp,
    pub held: bool,
}

fn ticket(row: &Row<'_>) -> rusqlite::Result<Ahead> {
    Ok(Ahead {
        host_key: row.get("host_key")?,
        host_name: row.get("host_name")?,
        run: RunId(row.get("run_id")?),
        requester: Requester {
            user: row.get("requester_user")?,
            host: row.get("requester_host")?,
            pid: row.get("requester_pid")?,
        },
        since: time(row, "since")?,
        held: row.get("held")?,
    })
}

impl Claims<'_> {
    /// Stands in line for the hosts: `(key, name as shown)`.
    pub fn enqueue(&self, run: RunId, hosts: &[(String, String)]) -> Result<(), StoreError> {
        let now = self.0.now().0;
        self.0
            .conn()
            .prepare_cached(
                "INSERT OR IGNORE INTO claim_tickets (run_id, host_key, host_name, state, since)
                 VALUES (?1, ?2, ?3, 'waiting', ?4)",
            )
            .and_then(|mut s| {
                for (key, name) in hosts {
                    s.execute(params![run.0, key, name, now])?;
                }
                Ok(())
            })
            .map_err(self.0.wrap())
    }

    /// The tickets of other live runs, on hosts of this run, that come before
    /// its own or are held.
    pub fn ahead(&self, run: RunId) -> Result<Vec<Ahead>, StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "SELECT o.host_key, o.host_name, o.run_id, o.since, o.state = 'held' AS held,
                        r.requester_user, r.requester_host, r.requester_pid
                 FROM claim_tickets m
                 JOIN claim_tickets o ON o.host_key = m.host_key AND o.run_id <> m.run_id
                 JOIN runs r ON r.id = o.run_id AND r.status IN ('queued', 'running')
                 WHERE m.run_id = ?1 AND m.state = 'waiting'
                   AND (o.state = 'held' OR o.id < m.id)
                 ORDER BY o.id",
            )
            .and_then(|mut s| s.query_map([run.0], ticket)?.collect())
            .map_err(self.0.wrap())
    }

    /// The tickets of live runs on one host, the holder's first.
    pub fn on(&self, host_key: &str) -> Result<Vec<Ahead>, StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "SELECT o.host_key, o.host_name, o.run_id, o.since, o.state = 'held' AS held,
                        r.requester_user, r.requester_host, r.requester_pid
                 FROM claim_tickets o
                 JOIN runs r ON r.id = o.run_id AND r.status IN ('queued', 'running')
                 WHERE o.host_key = ?1
                 ORDER BY held DESC, o.id",
            )
            .and_then(|mut s| s.query_map([host_key], ticket)?.collect())
            .map_err(self.0.wrap())
    }

    /// All tickets of live runs on hosts, in the order of the line:
    /// `(host key, run, held)`.
    pub fn line(&self) -> Result<Vec<(String, RunId, bool)>, StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "SELECT t.host_key, t.run_id, t.state = 'held' FROM claim_tickets t
                 JOIN runs r ON r.id = t.run_id AND r.status IN ('queued', 'running')
                 WHERE t.state IN ('waiting', 'held') ORDER BY t.id",
            )
            .and_then(|mut s| {
                s.query_map([], |row| Ok((row.get(0)?, RunId(row.get(1)?), row.get(2)?)))?
                    .collect()
            })
            .map_err(self.0.wrap())
    }

    /// Stands in line for a slot.
    pub fn enqueue_for_slot(&self, run: RunId) -> Result<(), StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "INSERT OR IGNORE INTO claim_tickets (run_id, host_key, host_name, state, since)
                 VALUES (?1, 'slot', 'slot', 'slot', ?2)",
            )
            .and_then(|mut s| s.execute(params![run.0, self.0.now().0]))
            .map_err(self.0.wrap())?;
        Ok(())
    }

    /// Leaves the line for a slot: a host that it needs is not free after all.
    pub fn leave_slot_line(&self, run: RunId) -> Result<(), StoreError> {
        self.0
            .conn()
            .prepare_cached("DELETE FROM claim_tickets WHERE run_id = ?1 AND state = 'slot'")
            .and_then(|mut s| s.execute([run.0]))
            .map_err(self.0.wrap())?;
        Ok(())
    }

    /// Live runs that wait for a slot, the first in line first.
    pub fn slot_line(&self) -> Result<Vec<RunId>, StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "SELECT t.run_id FROM claim_tickets t
                 JOIN runs r ON r.id = t.run_id AND r.status IN ('queued', 'running')
                 WHERE t.host_key = 'slot' AND t.state = 'slot' ORDER BY t.id",
            )
            .and_then(|mut s| s.query_map([], |row| row.get(0).map(RunId))?.collect())
            .map_err(self.0.wrap())
    }

    /// The locks are had.
    pub fn hold(&self, run: RunId) -> Result<(), StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "UPDATE claim_tickets SET state = 'held', since = ?2
                 WHERE run_id = ?1 AND state = 'waiting'",
            )
            .and_then(|mut s| s.execute(params![run.0, self.0.now().0]))
            .map_err(self.0.wrap())?;
        self.leave_slot_line(run)
    }

    /// The run is over.
    pub fn clear(&self, run: RunId) -> Result<(), StoreError> {
        self.0
            .conn()
            .prepare_cached("DELETE FROM claim_tickets WHERE run_id = ?1")
            .and_then(|mut s| s.execute([run.0]))
            .map_err(self.0.wrap())?;
        Ok(())
    }
}
