//! Versioned playbooks: shown and exported here, the rest below.

mod defaults;
mod diff;
mod edit;
mod push;
mod remove;

use std::path::Path;

use serde::Serialize;

use super::{Services, content};
use crate::domain::name::PlaybookName;
use crate::domain::playbook::{Content, Playbook, PlaybookVersion};
use crate::error::Error;
use crate::store::Tx;

pub use defaults::{DefaultChange, roll_back, set_default};
pub use diff::{Change, Diff, FileDiff, diff};
pub use edit::{EditRequest, Edited, edit};
pub use push::{
    CheckOptions, PushRequest, PushSource, Pushed, ValidateRequest, ValidateWhat, Validation, push,
    validate,
};
pub use remove::{Removed, may_remove, remove};

#[derive(Debug, Clone, Serialize)]
pub struct FileInfo {
    pub path: String,
    pub size_bytes: u64,
    pub executable: bool,
}

#[derive(Debug, Clone, Serialize)]
pub struct PlaybookDetail {
    #[serde(flatten)]
    pub version: PlaybookVersion,
    pub files: Vec<FileInfo>,
    /// The entry's text; bytes that are no UTF-8 are replaced.
    pub entry_text: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct Exported {
    pub name: PlaybookName,
    pub version: u32,
    pub path: String,
    pub files: usize,
}

/// A version, or the error that names what is missing and what is near.
pub(super) fn find(
    tx: &Tx<'_>,
    name: &PlaybookName,
    version: Option<u32>,
) -> Result<PlaybookVersion, Error> {
    if let Some(found) = tx.playbooks().get(name, version)? {
        return Ok(found);
    }
    let versions = tx.playbooks().versions(name)?;
    Err(match (version, versions.first()) {
        (Some(v), Some(latest)) => Error::not_found(format!(
            "playbook {name} has no version {v}; its latest is {}",
            latest.version
        ))
        .hint(format!("`kloigos playbook versions {name}` shows them")),
        _ => {
            let error = Error::not_found(format!("there is no playbook {name}"));
            match in_other_case(tx, name)? {
                Some(near) => error.hint(format!("did you mean {near}?")),
                None if matches!(
                    name.as_str(),
                    "list" | "show" | "output" | "follow" | "cancel"
                ) =>
                {
                    error.hint(format!("the history of runs is `kloigos runs {name}`"))
                }
                None => error.hint("`kloigos playbook list` shows them all"),
            }
        }
    })
}

/// The playbook whose name differs from this one only in case.
fn in_other_case(tx: &Tx<'_>, name: &PlaybookName) -> Result<Option<PlaybookName>, Error> {
    let names = tx.playbooks().list()?.into_iter().map(|p| p.name);
    let same = |other: &PlaybookName| other.as_str().eq_ignore_ascii_case(name.as_str());
    Ok(names.filter(|other| other != name).find(same))
}

pub fn list(services: &Services<'_>) -> Result<Vec<Playbook>, Error> {
    services.store.read(|tx| Ok(tx.playbooks().list()?))
}

/// Newest first.
pub fn versions(
    services: &Services<'_>,
    name: &PlaybookName,
) -> Result<Vec<PlaybookVersion>, Error> {
    services.store.read(|tx| {
        find(tx, name, None)?;
        Ok(tx.playbooks().versions(name)?)
    })
}

fn load(
    services: &Services<'_>,
    name: &PlaybookName,
    version: Option<u32>,
) -> Result<(PlaybookVersion, Content), Error> {
    services.store.read(|tx| {
        let version = find(tx, name, version)?;
        let content = tx.playbooks().content(&version)?;
        Ok((version, content))
    })
}

pub fn show(
    services: &Services<'_>,
    name: &PlaybookName,
    version: Option<u32>,
) -> Result<PlaybookDetail, Error> {
    let (version, content) = load(services, name, version)?;
    Ok(PlaybookDetail {
        entry_text: content
            .file(&content.entry)
            .map(|f| String::from_utf8_lossy(&f.bytes).into_owned())
            .unwrap_or_default(),
        files: content
            .files
            .iter()
            .map(|f| FileInfo {
                path: f.path.clone(),
                size_bytes: f.bytes.len() as u64,
                executable: f.executable,
            })
            .collect(),
        version,
    })
}

/// Writes a version's files: a single one to `to` (or into it, when it is a
/// directory), a bundle into the directory `to`. Nothing is replaced.
pub fn export(
    services: &Services<'_>,
    name: &PlaybookName,
    version: Option<u32>,
    to: &Path,
) -> Result<Exported, Error> {
    let (version, content) = load(services, name, version)?;
    content::write_new(&content, to)?;
    Ok(Exported {
        name: name.clone(),
        version: version.version,
        path: to.display().to_string(),
        files: content.files.len(),
    })
}
