//! Runs of any playbook, and their history.

mod again;
mod cancel;
mod content;
mod diff;
mod explain;
mod follow;
mod from_store;
mod grep;
mod prune;
mod start;
mod strays;

use std::ops::ControlFlow;

use serde::Serialize;

use super::Services;
use super::truth::Truth;
use crate::domain::run::{Run, RunId, RunStatus};
use crate::domain::run_event::{HostCounts, WaitsFor};
use crate::error::Error;
use crate::runner;
use crate::store::Tx;

pub use again::{AgainAsk, NotKept, not_kept, rerun, retry};
pub use cancel::cancel;
pub use content::{RunContent, content};
pub use diff::{RunDiff, diff};
pub use explain::{Explanation, explain};
pub use follow::{exit_code, follow};
pub use grep::{Found, grep, pattern};
pub use prune::{Old, Pruned, old, prunable, prune};
pub use start::{RunAsk, run};
pub use strays::{Look, Stray, strays};

pub use crate::store::runs::{Failure, RunFilter, TaskSummary};

#[derive(Debug, Clone, Serialize)]
pub struct RunDetail {
    #[serde(flatten)]
    pub run: Run,
    /// Of a queued run.
    pub waits_for: Vec<WaitsFor>,
    pub hosts: Vec<HostCounts>,
    pub tasks: Vec<TaskSummary>,
    pub failures: Vec<Failure>,
}

/// A run in a list.
#[derive(Debug, Clone, Serialize)]
pub struct RunSummary {
    #[serde(flatten)]
    pub run: Run,
    /// Of a queued run.
    pub waits_for: Vec<WaitsFor>,
}

pub(super) fn summary(tx: &Tx<'_>, run: Run) -> Result<RunSummary, Error> {
    Ok(RunSummary {
        waits_for: match run.status {
            RunStatus::Queued => runner::waits_for(tx, run.id)?,
            _ => Vec::new(),
        },
        run,
    })
}

/// Newest first.
pub fn list(services: &Services<'_>, filter: &RunFilter) -> Result<Vec<RunSummary>, Error> {
    let truth = Truth::see(*services)?;
    let wanted = filter.status;
    services.store.read(|tx| {
        let listed = |status, limit| {
            tx.runs().list(&RunFilter {
                status,
                limit,
                ..filter.clone()
            })
        };
        let mut runs = match wanted {
            // An orphan stands in the store as live, and is shown as
            // interrupted. There are never many live ones.
            Some(status) if status.is_live() => listed(wanted, None)?,
            Some(RunStatus::Interrupted) => {
                let mut runs = listed(wanted, filter.limit)?;
                runs.extend(listed(Some(RunStatus::Running), None)?);
                runs.extend(listed(Some(RunStatus::Queued), None)?);
                runs.sort_by_key(|r| std::cmp::Reverse(r.id));
                runs
            }
            _ => listed(wanted, filter.limit)?,
        };
        runs = runs.into_iter().map(|r| truth.run(r)).collect();
        runs.retain(|r| wanted.is_none_or(|s| s == r.status));
        if let Some(limit) = filter.limit {
            runs.truncate(limit as usize);
        }
        runs.into_iter().map(|run| summary(tx, run)).collect()
    })
}

fn find(tx: &Tx<'_>, id: RunId) -> Result<Run, Error> {
    tx.runs().get(id)?.ok_or_else(|| {
        Error::not_found(format!("there is no run {id}")).hint("`kloigos runs list` shows them all")
    })
}

/// As a reader shows it: one whose process has died is told so.
fn now_is(services: &Services<'_>, id: RunId) -> Result<Run, Error> {
    // The kernel first: a run's end is recorded before its lock is free.
    let alive = runner::is_alive(services.paths, id)?;
    let run = services.store.read(|tx| find(tx, id))?;
    Ok(if alive { run } else { run.as_interrupted() })
}

/// Where to look when a stored request cannot be met any more.
fn stored(id: RunId) -> String {
    format!("`kloigos runs show {id}` shows what the run was asked")
}

pub fn show(services: &Services<'_>, id: RunId) -> Result<RunDetail, Error> {
    let truth = Truth::see(*services)?;
    services.store.read(|tx| {
        let run = truth.run(find(tx, id)?);
        Ok(RunDetail {
            waits_for: if run.status == RunStatus::Queued {
                runner::waits_for(tx, id)?
            } else {
                Vec::new()
            },
            hosts: tx.runs().hosts(id)?,
            tasks: tx.runs().tasks(id)?,
            failures: tx.runs().failures(id)?,
            run,
        })
    })
}

/// Ansible's stored output, piece by piece, until `f` breaks.
pub fn output(
    services: &Services<'_>,
    id: RunId,
    f: &mut dyn FnMut(&str) -> ControlFlow<()>,
) -> Result<(), Error> {
    services.store.read(|tx| {
        find(tx, id)?;
        tx.runs().output(id, f)?;
        Ok(())
    })
}
