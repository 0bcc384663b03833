//! Old runs, removed.

use rusqlite::params;

use super::Runs;
use crate::domain::run::RunId;
use crate::domain::time::Timestamp;
use crate::store::StoreError;

/// Ended before ?1, not among the newest ?2, and no server or allocation says
/// that it is its last run.
pub(in crate::store) const OLD: &str =
    "FROM runs r WHERE r.ended_at < ?1 AND r.status NOT IN ('queued', 'running')
    AND r.id < coalesce((SELECT min(id) FROM (SELECT id FROM runs ORDER BY id DESC LIMIT ?2)),
                        9223372036854775807)
    AND NOT EXISTS (SELECT 1 FROM servers s WHERE s.run_id = r.id)
    AND NOT EXISTS (SELECT 1 FROM allocations a WHERE a.run_id = r.id)";

impl Runs<'_> {
    pub fn count_old(&self, before: Timestamp, keep: u32) -> Result<u64, StoreError> {
        self.0
            .conn()
            .prepare_cached(&format!("SELECT count(*) {OLD}"))
            .and_then(|mut s| s.query_row(params![before.0, keep], |r| r.get::<_, i64>(0)))
            .map(|n| u64::try_from(n).unwrap_or(0))
            .map_err(self.0.wrap())
    }

    /// Removes at most `limit`, the oldest first, with all that belongs to
    /// them; gives which.
    pub fn remove_old(
        &self,
        before: Timestamp,
        keep: u32,
        limit: u32,
    ) -> Result<Vec<RunId>, StoreError> {
        let conn = self.0.conn();
        let old: Vec<RunId> = conn
            .prepare_cached(&format!("SELECT r.id {OLD} ORDER BY r.id LIMIT ?3"))
            .and_then(|mut s| {
                s.query_map(params![before.0, keep, limit], |r| Ok(RunId(r.get(0)?)))?
                    .collect()
            })
            .map_err(self.0.wrap())?;
        conn.prepare_cached("DELETE FROM runs WHERE id = ?1")
            .and_then(|mut s| {
                for id in &old {
                    s.execute([id.0])?;
                }
                Ok(())
            })
            .map_err(self.0.wrap())?;
        Ok(old)
    }

    /// Those of `ids` that are in the store, and the newest that is.
    pub fn known(&self, ids: &[RunId]) -> Result<(Vec<RunId>, Option<RunId>), StoreError> {
        let conn = self.0.conn();
        conn.prepare_cached("SELECT EXISTS (SELECT 1 FROM runs WHERE id = ?1)")
            .and_then(|mut s| {
                let mut known = Vec::new();
                for id in ids {
                    if s.query_row([id.0], |r| r.get(0))? {
                        known.push(*id);
                    }
                }
                let newest: Option<i64> =
                    conn.query_row("SELECT max(id) FROM runs", [], |r| r.get(0))?;
                Ok((known, newest.map(RunId)))
            })
            .map_err(self.0.wrap())
    }
}
