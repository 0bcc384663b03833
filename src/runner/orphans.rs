//! Runs whose process has died.

use super::{files, liveness};
use crate::domain::event::NewEvent;
use crate::domain::run::{INTERRUPTED, Run, RunEnding, RunId};
use crate::error::{Error, Kind};
use crate::paths::Paths;
use crate::store::runs::Ended;
use crate::store::{Store, Tx};

/// Live by the store's word, dead by the kernel's. Only reads.
pub fn orphan_ids(store: &Store, paths: &Paths) -> Result<Vec<RunId>, Error> {
    let live = store.read(|tx| Ok::<_, Error>(tx.runs().live()?))?;
    let mut orphans = Vec::new();
    for run in live {
        if !liveness::is_alive(paths, run.id)? {
            orphans.push(run.id);
        }
    }
    if orphans.is_empty() {
        return Ok(orphans);
    }
    // One that ended between the two looks is no orphan: its end is recorded
    // before its lock is free.
    store.read(|tx| {
        let live = tx.runs().live()?;
        orphans.retain(|id| live.iter().any(|r| r.id == *id));
        Ok(orphans)
    })
}

/// What a dead run's credentials came to.
fn told(left: &files::CredentialsLeft) -> String {
    let dir = left.dir.display();
    let dir = match left.retain {
        true => format!("its SSH credentials are still in {dir}"),
        false => format!("its SSH credentials in {dir} are removed"),
    };
    match &left.cleanup {
        Some(playbook) => format!("{dir}, but {playbook} did not run"),
        None => dir,
    }
}

/// Marks each orphan interrupted; `on_orphan` settles what it was acting on,
/// in the same transaction.
pub fn sweep(
    store: &Store,
    paths: &Paths,
    on_orphan: &mut dyn FnMut(&Tx<'_>, &Run) -> Result<(), Error>,
) -> Result<Vec<RunId>, Error> {
    let mut swept = Vec::new();
    for id in orphan_ids(store, paths)? {
        let credentials = files::credentials_left(paths, id);
        let done = store.write(|tx| {
            // Another process may have been first.
            let Some(run) = tx.runs().get(id)?.filter(|r| r.status.is_live()) else {
                return Ok::<_, Error>(false);
            };
            let hosts = tx.runs().hosts(id)?;
            tx.runs().end(
                id,
                run.end(RunEnding::Interrupted)?,
                &Ended {
                    ending: RunEnding::Interrupted,
                    reason: Some(&match &credentials {
                        Some(left) => format!("{INTERRUPTED}; {}", told(left)),
                        None => INTERRUPTED.to_owned(),
                    }),
                    ansible_exit: None,
                    data: None,
                    hosts: &hosts,
                    exit_code: Kind::Run(RunEnding::Interrupted).exit_code(),
                },
            )?;
            if let Some(left) = &credentials {
                let event = NewEvent::new("run.credentials_left", format!("run {id}")).run(id);
                tx.events().append(event.detail(serde_json::json!({
                    "dir": left.dir,
                    "removed": !left.retain,
                    "cleanup_playbook": left.cleanup,
                    "cleanup": "not run",
                })))?;
            }
            tx.claims().clear(id)?;
            on_orphan(tx, &run)?;
            Ok(true)
        })?;
        if done {
            files::clean(paths, id)?;
            swept.push(id);
        }
    }
    Ok(swept)
}
