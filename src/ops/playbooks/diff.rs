//! What differs between two versions, file by file.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;
use similar::TextDiff;

use super::{find, load};
use crate::domain::name::PlaybookName;
use crate::domain::playbook::{ContentFile, PlaybookVersion};
use crate::error::Error;
use crate::ops::Services;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Added,
    Removed,
    Modified,
}

#[derive(Debug, Clone, Serialize)]
pub struct FileDiff {
    pub path: String,
    pub change: Change,
    /// Some when it differs: whether the file is executable in the later one.
    pub executable: Option<bool>,
    /// Bytes that are no text have no lines to compare.
    pub binary: bool,
    /// Unified, with its header; empty when only the permissions differ.
    pub diff: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct Diff {
    pub from: PlaybookVersion,
    pub to: PlaybookVersion,
    /// By path; empty when the files are the same.
    pub files: Vec<FileDiff>,
}

/// Without `from` the default version, without `to` the newest.
pub fn diff(
    services: &Services<'_>,
    name: &PlaybookName,
    from: Option<u32>,
    to: Option<u32>,
) -> Result<Diff, Error> {
    let to = match to {
        Some(to) => to,
        None => services.store.read(|tx| {
            let default = find(tx, name, None)?.version;
            let newest = tx.playbooks().versions(name)?;
            Ok::<_, Error>(newest.first().map_or(default, |v| v.version))
        })?,
    };
    let (from, old) = load(services, name, from)?;
    let (to, new) = load(services, name, Some(to))?;
    let paths: BTreeSet<&str> = old
        .files
        .iter()
        .chain(&new.files)
        .map(|f| f.path.as_str())
        .collect();
    let files = paths
        .into_iter()
        .filter_map(|path| file(&from, &to, path, (old.file(path), new.file(path))))
        .collect();
    Ok(Diff { from, to, files })
}

fn file(
    from: &PlaybookVersion,
    to: &PlaybookVersion,
    path: &str,
    (old, new): (Option<&ContentFile>, Option<&ContentFile>),
) -> Option<FileDiff> {
    if old == new {
        return None;
    }
    let bytes = |file: Option<&ContentFile>| file.map(|f| f.bytes.clone()).unwrap_or_default();
    let (a, b) = (bytes(old), bytes(new));
    let named = |version: &PlaybookVersion, file: Option<&ContentFile>| match file {
        Some(_) => format!("{}@{}/{path}", version.name, version.version),
        None => "/dev/null".to_owned(),
    };
    let (a_name, b_name) = (named(from, old), named(to, new));
    let (binary, diff) = match (std::str::from_utf8(&a), std::str::from_utf8(&b)) {
        _ if a == b => (false, String::new()),
        (Ok(a), Ok(b)) if !a.contains('\0') && !b.contains('\0') => {
            (false, unified(a, b, &a_name, &b_name))
        }
        _ => (true, format!("Binary files {a_name} and {b_name} differ\n")),
    };
    let was = old.is_some_and(|f| f.executable);
    let is = new.is_some_and(|f| f.executable);
    Some(FileDiff {
        path: path.to_owned(),
        change: match (old, new) {
            (None, _) => Change::Added,
            (_, None) => Change::Removed,
            _ => Change::Modified,
        },
        executable: (was != is).then_some(is),
        binary,
        diff,
    })
}

fn unified(a: &str, b: &str, a_name: &str, b_name: &str) -> String {
    TextDiff::configure()
        // Far longer than any playbook takes; a diff that is not the shortest
        // is still a true one.
        .timeout(Duration::from_secs(3))
        .diff_lines(a, b)
        .unified_diff()
        .header(a_name, b_name)
        .to_string()
}
