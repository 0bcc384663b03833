//! The audit log.

use rusqlite::{Row, params};

use super::runs::OLD;
use super::values::{json, time};
use super::{StoreError, Tx};
use crate::domain::event::{Event, NewEvent};
use crate::domain::run::RunId;
use crate::domain::time::Timestamp;

pub struct Events<'t>(pub(in crate::store) &'t Tx<'t>);

#[derive(Debug, Clone, Default)]
pub struct EventFilter {
    pub subject: Option<String>,
    pub kind: Option<String>,
    pub run: Option<RunId>,
    pub limit: Option<u32>,
}

impl Events<'_> {
    pub fn append(&self, event: NewEvent) -> Result<(), StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "INSERT INTO events (at, actor, kind, subject, run_id, detail)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )
            .and_then(|mut s| {
                s.execute(params![
                    self.0.now().0,
                    self.0.store.actor,
                    event.kind,
                    event.subject,
                    event.run_id.map(|r| r.0),
                    event.detail.to_string()
                ])
            })
            .map_err(self.0.wrap())?;
        Ok(())
    }

    /// How many [`Events::remove_old`] removes once the runs are gone that
    /// [`Runs::remove_old`](super::runs::Runs::remove_old) removes.
    pub fn count_old(&self, before: Timestamp, keep: u32) -> Result<u64, StoreError> {
        self.0
            .conn()
            .prepare_cached(&format!(
                "SELECT count(*) FROM events WHERE at < ?1 AND (run_id IS NULL
                 OR run_id NOT IN (SELECT id FROM runs) OR run_id IN (SELECT r.id {OLD}))"
            ))
            .and_then(|mut s| s.query_row(params![before.0, keep], |r| r.get::<_, i64>(0)))
            .map(|n| u64::try_from(n).unwrap_or(0))
            .map_err(self.0.wrap())
    }

    /// Removes events from before that time, but for those of a run that is
    /// there; gives how many.
    pub fn remove_old(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "DELETE FROM events WHERE at < ?1
                 AND (run_id IS NULL OR run_id NOT IN (SELECT id FROM runs))",
            )
            .and_then(|mut s| s.execute([before.0]))
            .map(|n| n as u64)
            .map_err(self.0.wrap())
    }

    /// Newest first.
    pub fn list(&self, filter: &EventFilter) -> Result<Vec<Event>, StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "SELECT * FROM events
                 WHERE (?1 IS NULL OR subject = ?1)
                   AND (?2 IS NULL OR kind = ?2 OR kind LIKE ?2 || '.%')
                   AND (?3 IS NULL OR run_id = ?3)
                 ORDER BY id DESC LIMIT ?4",
            )
            .and_then(|mut s| {
                s.query_map(
                    params![
                        filter.subject,
                        filter.kind,
                        filter.run.map(|r| r.0),
                        filter.limit.map_or(-1, i64::from)
                    ],
                    event,
                )?
                .collect()
            })
            .map_err(self.0.wrap())
    }
}

fn event(row: &Row<'_>) -> rusqlite::Result<Event> {
    Ok(Event {
        id: row.get("id")?,
        at: time(row, "at")?,
        actor: row.get("actor")?,
        kind: row.get("kind")?,
        subject: row.get("subject")?,
        run_id: row.get::<_, Option<i64>>("run_id")?.map(RunId),
        detail: json(row, "detail")?,
    })
}
