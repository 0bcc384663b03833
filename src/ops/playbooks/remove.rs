//! Taking versions away again, as far as nothing refers to them.

use serde::Serialize;

use super::find;
use crate::domain::lifecycle::Lifecycle;
use crate::domain::name::PlaybookName;
use crate::error::{Error, Kind};
use crate::ops::{Services, packaged};
use crate::store::Tx;

#[derive(Debug, Clone, Serialize)]
pub struct Removed {
    pub name: PlaybookName,
    pub versions: Vec<u32>,
    /// Whether the playbook is gone with its last version.
    pub playbook_removed: bool,
}

/// What a removal would take, or why it is refused.
pub fn may_remove(
    services: &Services<'_>,
    name: &PlaybookName,
    version: Option<u32>,
) -> Result<Removed, Error> {
    services.store.read(|tx| removal(tx, name, version))
}

pub fn remove(
    services: &Services<'_>,
    name: &PlaybookName,
    version: Option<u32>,
) -> Result<Removed, Error> {
    services.store.write(|tx| {
        let removed = removal(tx, name, version)?;
        match (version, removed.playbook_removed) {
            (Some(version), false) => tx.playbooks().remove_version(name, version)?,
            _ => tx.playbooks().remove(name)?,
        }
        Ok(removed)
    })
}

fn removal(tx: &Tx<'_>, name: &PlaybookName, version: Option<u32>) -> Result<Removed, Error> {
    let refused = |what: String| Error::new(Kind::WrongState, format!("cannot remove {what}"));
    let all = tx.playbooks().versions(name)?;
    let asked = find(tx, name, version)?;
    let recorded = tx.playbooks().recorded(name)?;
    let run_of = |version: u32| recorded.iter().find(|(v, _)| *v == version);
    let playbook_removed = version.is_none() || all.len() == 1;
    if playbook_removed && belongs_to_kloigos(name) {
        return Err(refused(format!(
            "{name}: it is one of the packaged playbooks, which Kloigos itself runs"
        ))
        .hint(format!(
            "`kloigos playbook set-default {name} N` runs another version in its place"
        )));
    }
    if version.is_some() && asked.packaged {
        return Err(refused(format!(
            "{name}@{}: it came with Kloigos, and `kloigos init` would bring it back",
            asked.version
        )));
    }
    if version.is_some() && asked.is_default && !playbook_removed {
        return Err(refused(format!(
            "{name}@{}: it is the default version",
            asked.version
        ))
        .hint(format!(
            "`kloigos playbook set-default {name} N` makes another one the default"
        )));
    }
    let versions: Vec<u32> = match version {
        Some(_) => vec![asked.version],
        None => all.iter().map(|v| v.version).collect(),
    };
    if let Some((version, run)) = versions.iter().find_map(|v| run_of(*v)) {
        return Err(refused(format!(
            "{name}@{version}: run {run} recorded it, and the history must stay true"
        ))
        .hint(format!(
            "`kloigos runs list --playbook {name}` shows its runs"
        )));
    }
    Ok(Removed {
        name: name.clone(),
        versions,
        playbook_removed,
    })
}

fn belongs_to_kloigos(name: &PlaybookName) -> bool {
    Lifecycle::of_playbook(name.as_str()).is_some() || packaged::is_packaged(name.as_str())
}
