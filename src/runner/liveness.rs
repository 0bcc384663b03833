//! Whether the process of a run still lives: a kernel file lock that it holds
//! from registration to its end.
//!
//! `runs/<id>/alive` is the one lock that others probe. It is taken inside the
//! transaction that makes the run visible, so a visible run without its lock
//! is dead. The descriptor is closed on exec: Ansible's processes do not keep
//! a dead run alive.

use std::fs::{File, TryLockError};

use super::owner::Owner;
use crate::domain::run::RunId;
use crate::error::Error;
use crate::fs::{self, FsError};
use crate::paths::Paths;

#[derive(Debug)]
pub(super) struct Liveness {
    _file: File,
}

impl Liveness {
    pub(super) fn take(paths: &Paths, id: RunId) -> Result<Self, Error> {
        fs::create_private_dir(&paths.run(id)).map_err(Error::store)?;
        let path = paths.liveness_lock(id);
        let mut file = fs::open_lock_file(&path).map_err(Error::store)?;
        // A transaction that was rolled back may have left the file, and a
        // reader may be probing it this instant: wait for either.
        file.lock()
            .map_err(FsError::of("lock", &path))
            .map_err(Error::store)?;
        Owner::write(&mut file)
            .map_err(FsError::of("write", &path))
            .map_err(Error::store)?;
        Ok(Liveness { _file: file })
    }
}

/// A run whose file is gone is dead too. A lock call that fails for another
/// reason is an error, never an answer.
pub fn is_alive(paths: &Paths, id: RunId) -> Result<bool, Error> {
    let path = paths.liveness_lock(id);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(e) => return Err(Error::store(FsError::of("open the lock file", &path)(e))),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(e)) => Err(Error::store(FsError::of("probe the lock", &path)(e))),
    }
}
