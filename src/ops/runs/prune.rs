//! Old runs and events, removed.

use serde::Serialize;

use crate::domain::event::NewEvent;
use crate::domain::run::RunId;
use crate::domain::settings::DATA_RETENTION_DAYS;
use crate::domain::time::Timestamp;
use crate::error::{Error, Kind};
use crate::fs::FsError;
use crate::ops::Services;
use std::time::Duration;

/// Runs a transaction: writers that wait must not notice.
const BATCH: u32 = 100;

/// What is old.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Old {
    pub before: Timestamp,
    /// So many of the newest runs stay, whatever their age.
    pub keep: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Pruned {
    #[serde(flatten)]
    pub old: Old,
    pub runs: u64,
    pub events: u64,
}

/// As the setting says, unless `age` does.
pub fn old(services: &Services<'_>, age: Option<Duration>, keep: u32) -> Result<Old, Error> {
    let age = match age {
        Some(age) => age,
        None => {
            let days = services
                .store
                .read(|tx| tx.settings().number(&DATA_RETENTION_DAYS))?;
            Duration::from_secs(u64::from(days) * 86_400)
        }
    };
    let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    Ok(Old {
        before: Timestamp(services.clock.now().0.saturating_sub(age)),
        keep,
    })
}

/// What [`prune`] would remove.
pub fn prunable(services: &Services<'_>, old: Old) -> Result<Pruned, Error> {
    services.store.read(|tx| {
        Ok(Pruned {
            old,
            runs: tx.runs().count_old(old.before, old.keep)?,
            events: tx.events().count_old(old.before, old.keep)?,
        })
    })
}

/// Removes old runs that have ended and that nothing refers to, with their
/// output and directories, and events as old that belong to no run that stays.
pub fn prune(services: &Services<'_>, old: Old) -> Result<Pruned, Error> {
    let mut runs = 0;
    loop {
        let removed = services
            .store
            .write(|tx| tx.runs().remove_old(old.before, old.keep, BATCH))?;
        for id in &removed {
            crate::fs::remove_tree(&services.paths.run(*id))?;
        }
        runs += removed.len() as u64;
        if removed.len() < BATCH as usize {
            break;
        }
    }
    remove_strays(services)?;
    let events = services.store.write(|tx| {
        let events = tx.events().remove_old(old.before)?;
        if runs + events > 0 {
            tx.events().append(
                NewEvent::new("runs.pruned", "runs").detail(serde_json::json!({
                    "runs": runs, "events": events, "before": old.before, "keep": old.keep,
                })),
            )?;
        }
        Ok::<_, Error>(events)
    })?;
    Ok(Pruned { old, runs, events })
}

/// Directories whose run is gone: of a prune that was cut. One that is just
/// being made has a number above every run that can be seen.
fn remove_strays(services: &Services<'_>) -> Result<(), Error> {
    let dir = services.paths.runs();
    let entries = match std::fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(Error::new(Kind::Local, FsError::of("read", &dir)(e))),
    };
    let ids: Vec<RunId> = entries
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse().ok())
        .collect();
    let (known, newest) = services.store.read(|tx| tx.runs().known(&ids))?;
    for id in ids {
        if newest.is_some_and(|n| id < n) && !known.contains(&id) {
            crate::fs::remove_tree(&services.paths.run(id))?;
        }
    }
    Ok(())
}
