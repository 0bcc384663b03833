//! What can go wrong with the database file, each with its fix.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use thiserror::Error;

/// Below this an I/O error is taken for a full disk: a page of the store and
/// of its log need some room.
const LEAST_FREE: u64 = 256 * 1024;

#[derive(Debug, Error)]
pub enum StoreError {
    #[error("there is no store at {}", .0.display())]
    Missing(PathBuf),
    #[error("the store {} has schema {found}, older than this kloigos, which needs {needed}", path.display())]
    Older {
        path: PathBuf,
        found: u32,
        needed: u32,
    },
    #[error("the store {} has schema {found}, newer than this kloigos knows ({known})", path.display())]
    Newer {
        path: PathBuf,
        found: u32,
        known: u32,
    },
    #[error("{} is not a usable kloigos store: {why}", path.display())]
    Corrupt { path: PathBuf, why: String },
    #[error("the store {} cannot be written: {why}", path.display())]
    NotWritable { path: PathBuf, why: String },
    #[error("the store {} belongs to UID {owner}, and this is UID {me}", path.display())]
    Foreign { path: PathBuf, owner: u32, me: u32 },
    #[error("other users can write into {}, where the store is", .0.display())]
    OthersWrite(PathBuf),
    #[error("the store {} cannot be opened: {why}", path.display())]
    CannotOpen { path: PathBuf, why: String },
    #[error("the disk that holds the store {} is full", .0.display())]
    Full(PathBuf),
    #[error("another process has kept the store {} locked for {seconds} s", path.display())]
    Locked { path: PathBuf, seconds: u64 },
    /// A compare-and-set found another status than the one it starts from.
    #[error("{subject} was changed by another process at the same time")]
    Conflict { subject: String },
    #[error("the store {}: {source}", path.display())]
    Sqlite {
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },
}

impl StoreError {
    pub(in crate::store) fn from_sqlite(source: rusqlite::Error, path: &Path) -> Self {
        let path = path.to_owned();
        let why = source.to_string();
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Locked {
                path,
                seconds: super::open::BUSY_TIMEOUT.as_secs(),
            },
            Some(ErrorCode::DiskFull) => StoreError::Full(path),
            // SQLite says "I/O error" when its shared memory cannot grow.
            Some(ErrorCode::SystemIoFailure)
                if crate::fs::free_bytes(&path).is_some_and(|free| free < LEAST_FREE) =>
            {
                StoreError::Full(path)
            }
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                StoreError::NotWritable { path, why }
            }
            Some(ErrorCode::CannotOpen) => StoreError::CannotOpen { path, why },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                StoreError::Corrupt { path, why }
            }
            Some(_) | None => StoreError::Sqlite { path, source },
        }
    }

    /// What the user can do about it.
    pub fn hints(&self) -> Vec<String> {
        let owner = |path: &Path| {
            let beside = |end: &str| {
                let mut name = path.as_os_str().to_owned();
                name.push(end);
                PathBuf::from(name)
            };
            // SQLite's own files are as good as the file itself.
            let all = [path.to_owned(), beside("-wal"), beside("-shm")];
            let foreign = all
                .iter()
                .filter(|p| p.exists())
                .find_map(|p| crate::fs::foreign_owner(p));
            foreign.map(|(path, uid)| {
                let path = path.display().to_string();
                format!(
                    "{path} belongs to UID {uid} (was kloigos once run with sudo?); give it back with `sudo chown -R \"$(id -u)\" {}`",
                    path
                )
            })
        };
        match self {
            StoreError::Missing(path) => vec![
                format!(
                    "`kloigos init --store {}` makes one",
                    path.parent().unwrap_or(path).display()
                ),
                "if it is elsewhere, name its directory with --store or KLOIGOS_HOME".into(),
            ],
            StoreError::Older { .. } => {
                vec!["`kloigos init` upgrades it, after a backup beside it".into()]
            }
            StoreError::Newer { .. } => {
                vec!["use the newer kloigos, or another directory with --store; the file was not touched".into()]
            }
            StoreError::Corrupt { path, .. } => vec![format!(
                "move {} aside, then put a copy back in its place, or `kloigos init` to begin anew",
                path.display()
            )],
            StoreError::NotWritable { path, .. } | StoreError::CannotOpen { path, .. } => {
                owner(path).into_iter().chain(owner(path).is_none().then(|| {
                    format!("check the permissions of {} and of its directory, and that the file system is writable", path.display())
                })).collect()
            }
            StoreError::Foreign { path, owner, .. } => vec![format!(
                "use it as that user (`sudo -u '#{owner}' kloigos …`), or make it yours with `sudo chown -R \"$(id -u)\" {}`",
                path.parent().unwrap_or(path).display()
            )],
            StoreError::OthersWrite(dir) => {
                vec![format!("`chmod 700 {}` closes it", dir.display())]
            }
            StoreError::Full(_) => vec!["free some space on it, then repeat the command".into()],
            StoreError::Locked { .. } => {
                vec!["find the process with `fuser`, or repeat the command".into()]
            }
            StoreError::Conflict { .. } => vec!["look at its state, then repeat the command".into()],
            StoreError::Sqlite { .. } => Vec::new(),
        }
    }
}
