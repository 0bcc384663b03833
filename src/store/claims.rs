//! Tickets: who waits for which host, in which order, and who has it.
//!
//! The kernel's file locks alone decide who has a host. Tickets keep the order
//! (a lower id first among tickets that share a host) and say whom one waits
//! for. A ticket of a run that is no longer live counts for nothing.

use rusqlite::params;

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
            .and_then(|mut s| {
                s.query_map([run.0], |row| {
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
                })?
                .collect()
            })
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
        Ok(())
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
