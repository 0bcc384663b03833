//! The only door to files: every error carries its path, and what we make is
//! private (directories 0700, files 0600).

pub mod guarded;

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// What was tried on which file, and why it failed.
#[derive(Debug, Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct FsError {
    pub action: &'static str,
    pub path: PathBuf,
    #[source]
    pub source: io::Error,
}

impl FsError {
    /// For `map_err`.
    pub fn of(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FsError {
        let path = path.to_owned();
        move |source| FsError {
            action,
            path,
            source,
        }
    }

    /// The owner's UID when the path (or its nearest existing parent) belongs
    /// to somebody else: the usual reason for "permission denied" here is one
    /// run under sudo.
    pub fn foreign_owner(&self) -> Option<(PathBuf, u32)> {
        foreign_owner(&self.path)
    }
}

/// The nearest existing ancestor of `path`, and its owner, if that is another
/// user.
pub fn foreign_owner(path: &Path) -> Option<(PathBuf, u32)> {
    let me = rustix::process::geteuid().as_raw();
    path.ancestors()
        .find_map(|p| {
            std::fs::symlink_metadata(p)
                .ok()
                .map(|m| (p.to_owned(), m.uid()))
        })
        .filter(|(_, uid)| *uid != me)
}

/// Makes the directory and its missing parents, 0700.
pub fn create_private_dir(path: &Path) -> Result<(), FsError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(FsError::of("make the directory", path))
}

/// Opens for writing, made 0600 if missing, never truncated: for lock files.
pub fn open_lock_file(path: &Path) -> Result<File, FsError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(FsError::of("open the lock file", path))
}

/// Writes a new private file; an existing one is replaced.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<(), FsError> {
    write_with_mode(path, bytes, 0o600)
}

/// Writes a new file with the given permissions; an existing one is replaced.
pub fn write_with_mode(path: &Path, bytes: &[u8], mode: u32) -> Result<(), FsError> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode)
        .open(path)
        .map_err(FsError::of("write", path))?;
    file.write_all(bytes).map_err(FsError::of("write", path))
}

pub fn read(path: &Path) -> Result<Vec<u8>, FsError> {
    std::fs::read(path).map_err(FsError::of("read", path))
}

/// Reads what may be a pipe or a device; more than `limit` bytes are an error.
pub fn read_at_most(path: &Path, limit: u64) -> Result<Vec<u8>, FsError> {
    let file = File::open(path).map_err(FsError::of("read", path))?;
    take_at_most(file, limit).map_err(FsError::of("read", path))
}

/// The same from a stream that is open.
pub fn take_at_most(from: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it has more than {} KiB", limit / 1024),
        ));
    }
    Ok(bytes)
}

pub fn read_to_string(path: &Path) -> Result<String, FsError> {
    std::fs::read_to_string(path).map_err(FsError::of("read", path))
}

/// Removes a tree; one that is not there is no error.
pub fn remove_tree(path: &Path) -> Result<(), FsError> {
    match std::fs::remove_dir_all(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(FsError::of("remove the directory", path)(e))
        }
        _ => Ok(()),
    }
}

/// The permission bits.
pub fn mode(path: &Path) -> Result<u32, FsError> {
    let meta = std::fs::metadata(path).map_err(FsError::of("look at", path))?;
    Ok(meta.permissions().mode() & 0o7777)
}

pub fn set_mode(path: &Path, mode: u32) -> Result<(), FsError> {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
        .map_err(FsError::of("set the permissions of", path))
}

/// Whether everything in the directory is called, or begins with, one of these
/// names.
pub fn holds_only(dir: &Path, names: &[&str]) -> Result<bool, FsError> {
    let entries = std::fs::read_dir(dir).map_err(FsError::of("read the directory", dir))?;
    for entry in entries {
        let name = entry
            .map_err(FsError::of("read the directory", dir))?
            .file_name();
        let name = name.to_string_lossy();
        if !names.iter().any(|n| name.starts_with(n)) {
            return Ok(false);
        }
    }
    Ok(true)
}

pub fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// Whether nobody can write there, whatever the permissions say.
pub fn is_read_only(path: &Path) -> bool {
    rustix::fs::statvfs(path)
        .is_ok_and(|s| s.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
}

/// Bytes that an ordinary user may still write on the file system of `path`.
pub fn free_bytes(path: &Path) -> Option<u64> {
    rustix::fs::statvfs(path)
        .ok()
        .map(|s| s.f_bavail * s.f_frsize)
}

/// The name of the network file system that holds `path`, if it is one.
/// Magic numbers: statfs(2).
pub fn network_file_system(path: &Path) -> Option<&'static str> {
    let stat = rustix::fs::statfs(path).ok()?;
    match stat.f_type & 0xffff_ffff {
        0x6969 => Some("NFS"),
        0x517b => Some("SMB"),
        0xff53_4d42 => Some("CIFS"),
        0xfe53_4d42 => Some("SMB2"),
        0x5346_414f => Some("AFS"),
        0x0102_1997 => Some("9P"),
        0x00c3_6400 => Some("Ceph"),
        _ => None,
    }
}
