//! All results of a run, for comparing it with another.

use super::Runs;
use crate::domain::run::RunId;
use crate::domain::run_event::{ResultStatus, TaskNo};
use crate::store::StoreError;
use crate::store::values::parsed;

/// One task's result on one host.
#[derive(Debug, Clone, PartialEq)]
pub struct HostTask {
    pub task: TaskNo,
    pub host: String,
    pub status: ResultStatus,
    pub duration_ms: u64,
}

impl Runs<'_> {
    /// In the order of tasks.
    pub fn results(&self, id: RunId) -> Result<Vec<HostTask>, StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "SELECT task_no, host, status, duration_ms FROM run_results
                 WHERE run_id = ?1 ORDER BY task_no, seq",
            )
            .and_then(|mut s| {
                s.query_map([id.0], |row| {
                    Ok(HostTask {
                        task: TaskNo(row.get("task_no")?),
                        host: row.get("host")?,
                        status: parsed(row, "status")?,
                        duration_ms: row
                            .get::<_, i64>("duration_ms")
                            .map(|n| u64::try_from(n).unwrap_or(0))?,
                    })
                })?
                .collect()
            })
            .map_err(self.0.wrap())
    }
}
