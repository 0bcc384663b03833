//! Which runs: lists and filters.

use rusqlite::types::Value;
use rusqlite::{Row, params_from_iter};

use super::{Runs, run};
use crate::domain::name::PlaybookName;
use crate::domain::run::{Run, RunId, RunStatus};
use crate::domain::time::Timestamp;
use crate::store::StoreError;

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

impl Runs<'_> {
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
}
