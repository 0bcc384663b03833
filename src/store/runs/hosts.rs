//! The hosts of a run and what came of each.

use rusqlite::params;

use super::Runs;
use crate::domain::run::RunId;
use crate::domain::run_event::{HostCounts, RunHost};
use crate::store::StoreError;

impl Runs<'_> {
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
                        (SELECT count(*) FROM run_results x WHERE x.run_id = h.run_id AND x.host = h.host AND x.status = 'skipped') AS n_skipped,
                        (SELECT count(*) FROM run_results x WHERE x.run_id = h.run_id AND x.host = h.host AND x.status = 'rescued') AS n_rescued,
                        (SELECT count(*) FROM run_results x WHERE x.run_id = h.run_id AND x.host = h.host AND x.status = 'ignored') AS n_ignored
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
                        rescued: count("rescued", "n_rescued")?,
                        ignored: count("ignored", "n_ignored")?,
                    })
                })?
                .collect()
            })
            .map_err(self.0.wrap())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::domain::name::PlaybookName;
    use crate::domain::run::Requester;
    use crate::domain::run_event::{ResultStatus, TaskNo};
    use crate::domain::time::Timestamp;
    use crate::store::open_memory;
    use crate::store::runs::{NewRun, ResultRow, TaskRow};

    #[test]
    fn a_run_without_an_end_is_counted_from_its_results() {
        let store = open_memory(Clock::Fixed(Timestamp(1))).unwrap();
        let counts = store
            .write(|tx| {
                let runs = tx.runs();
                let id = runs.insert(&NewRun {
                    playbook: &PlaybookName::parse("say").unwrap(),
                    version: 1,
                    digest: "x",
                    lifecycle: None,
                    subject: None,
                    requester: &Requester {
                        user: "ana".into(),
                        host: "ops".into(),
                        pid: 1,
                    },
                    check: false,
                    request: &serde_json::json!({}),
                })?;
                let host = RunHost {
                    name: "a".into(),
                    address: "10.0.0.1".into(),
                    port: None,
                };
                runs.add_hosts(id, &[host])?;
                let all = [
                    ResultStatus::Ok,
                    ResultStatus::Changed,
                    ResultStatus::Rescued,
                    ResultStatus::Ignored,
                    ResultStatus::Skipped,
                ];
                for (no, status) in (1u32..).zip(all) {
                    runs.add_tasks(
                        id,
                        &[TaskRow {
                            task: TaskNo(no),
                            play: "p".into(),
                            name: "t".into(),
                            action: "debug".into(),
                            handler: false,
                            started_at: Timestamp(1),
                        }],
                    )?;
                    let result = ResultRow {
                        task: TaskNo(no),
                        host: "a".into(),
                        status,
                        changed: status == ResultStatus::Changed,
                        duration_ms: 1,
                        message: None,
                    };
                    runs.add_results(id, no.into(), &[result])?;
                }
                runs.hosts(id)
            })
            .unwrap();
        assert_eq!(
            counts,
            [HostCounts {
                ok: 3,
                changed: 1,
                skipped: 1,
                rescued: 1,
                ignored: 1,
                ..HostCounts::named("a")
            }]
        );
    }
}
