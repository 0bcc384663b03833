//! Directories in a place where other users can write too, such as /tmp: made
//! so that nobody else can have planted them or anything above them.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, Stat, fstat, mkdirat, openat, statat};
use rustix::io::Errno;
use thiserror::Error;

use super::FsError;

#[derive(Debug, Error)]
pub enum Unsafe {
    #[error("{} {why}", path.display())]
    Refused { path: PathBuf, why: String },
    #[error(transparent)]
    Fs(#[from] FsError),
}

fn refused<T>(path: &Path, why: impl Into<String>) -> Result<T, Unsafe> {
    Err(Unsafe::Refused {
        path: path.to_owned(),
        why: why.into(),
    })
}

fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn open(at: &OwnedFd, name: &Path) -> Result<OwnedFd, Errno> {
    openat(
        at,
        name,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    )
}

/// Ours alone.
fn check_private(path: &Path, stat: &Stat) -> Result<(), Unsafe> {
    if stat.st_uid != me() {
        return refused(path, format!("belongs to UID {}", stat.st_uid));
    }
    if stat.st_mode & 0o077 != 0 {
        return refused(path, "is open to other users");
    }
    Ok(())
}

/// One that was there before.
fn check_found(path: &Path, stat: &Stat, last: bool) -> Result<(), Unsafe> {
    if stat.st_uid != me() && stat.st_uid != 0 {
        return refused(path, format!("belongs to UID {}", stat.st_uid));
    }
    // In a sticky directory others can make names, but not take ours away.
    let sticky = stat.st_mode & 0o1000 != 0;
    if stat.st_mode & 0o022 != 0 && (last || !sticky) {
        return refused(path, "can be written by other users");
    }
    Ok(())
}

/// `root`, whose missing parts are made, each 0700.
fn enter(root: &Path) -> Result<OwnedFd, Unsafe> {
    let io = |action, path: &Path, e: Errno| Unsafe::Fs(FsError::of(action, path)(e.into()));
    let mut path = PathBuf::from("/");
    let mut dir = rustix::fs::open(
        "/",
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .map_err(|e| io("open", &path, e))?;
    let mut parts = root.components().skip(1).peekable();
    while let Some(part) = parts.next() {
        let name = Path::new(part.as_os_str());
        path.push(name);
        let made = match mkdirat(&dir, name, Mode::RWXU) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            // Where nothing can be made, something may be there all the same.
            Err(e) => match statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(_) => false,
                Err(_) => return Err(io("make the directory", &path, e)),
            },
        };
        let next = match open(&dir, name) {
            Ok(next) => next,
            Err(Errno::NOTDIR | Errno::LOOP) => return refused(&path, "is a link or no directory"),
            Err(e) => return Err(io("open", &path, e)),
        };
        let stat = fstat(&next).map_err(|e| io("look at", &path, e))?;
        if made {
            check_private(&path, &stat)?;
        } else {
            check_found(&path, &stat, parts.peek().is_none())?;
        }
        dir = next;
    }
    Ok(dir)
}

/// Makes `root/NAME/inner`, where NAME is the first of `names` that is free;
/// gives `root/NAME`. A name that is taken must be a private directory of ours:
/// whatever else stands there was put there by somebody.
pub fn make_new(root: &Path, names: &[String], inner: &str) -> Result<PathBuf, Unsafe> {
    let io = |action, path: &Path, e: Errno| Unsafe::Fs(FsError::of(action, path)(e.into()));
    let dir = enter(root)?;
    for name in names {
        let path = root.join(name);
        match mkdirat(&dir, name.as_str(), Mode::RWXU) {
            Ok(()) => {
                let new = open(&dir, Path::new(name)).map_err(|e| io("open", &path, e))?;
                check_private(&path, &fstat(&new).map_err(|e| io("look at", &path, e))?)?;
                mkdirat(&new, inner, Mode::RWXU)
                    .map_err(|e| io("make the directory", &path.join(inner), e))?;
                return Ok(path);
            }
            Err(Errno::EXIST) => {
                let stat = statat(&dir, name.as_str(), AtFlags::SYMLINK_NOFOLLOW)
                    .map_err(|e| io("look at", &path, e))?;
                if rustix::fs::FileType::from_raw_mode(stat.st_mode)
                    != rustix::fs::FileType::Directory
                {
                    return refused(&path, "is a link or no directory");
                }
                check_private(&path, &stat)?;
            }
            Err(e) => return Err(io("make the directory", &path, e)),
        }
    }
    refused(
        root,
        format!("holds {} already, and what follows", names.join(", ")),
    )
}

/// Whether it is a directory, no link, and ours alone.
pub fn is_private_dir(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::symlink_metadata(path)
        .is_ok_and(|m| m.is_dir() && m.uid() == me() && m.mode() & 0o077 == 0)
}

/// Whether it is a regular file, no link, and ours.
pub fn is_own_file(path: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::symlink_metadata(path)?;
    Ok(found.is_file() && found.uid() == me())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn names() -> Vec<String> {
        vec!["7".into(), "7-b".into()]
    }

    fn why(result: Result<PathBuf, Unsafe>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn a_directory_is_made_with_all_above_it_and_never_shared() {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path().join("a/b");
        let first = make_new(&root, &names(), "ssh").unwrap();
        assert_eq!(first, root.join("7"));
        for dir in [&root, &first, &first.join("ssh")] {
            assert!(is_private_dir(dir));
        }
        assert_eq!(make_new(&root, &names(), "ssh").unwrap(), root.join("7-b"));
        assert!(why(make_new(&root, &names(), "ssh")).contains("already"));
    }

    #[test]
    fn what_somebody_has_planted_is_refused() {
        let tmp = tempfile::tempdir().unwrap();
        let at = |name: &str| tmp.path().join(name);
        std::fs::create_dir(at("real")).unwrap();
        symlink(at("real"), at("link")).unwrap();
        for root in ["link", "link/jobs"] {
            assert!(why(make_new(&at(root), &names(), "ssh")).contains("link"));
        }
        symlink(at("elsewhere"), at("real/7")).unwrap();
        assert!(why(make_new(&at("real"), &names(), "ssh")).contains("real/7 is a link"));
        std::fs::remove_file(at("real/7")).unwrap();
        std::fs::create_dir(at("real/7")).unwrap();
        std::fs::set_permissions(at("real/7"), PermissionsExt::from_mode(0o755)).unwrap();
        assert!(why(make_new(&at("real"), &names(), "ssh")).contains("open to other users"));
        std::fs::set_permissions(at("real"), PermissionsExt::from_mode(0o1777)).unwrap();
        assert!(why(make_new(&at("real"), &names(), "ssh")).contains("written by other users"));
        // Below a sticky directory it is safe.
        assert!(make_new(&at("real/jobs"), &names(), "ssh").is_ok());
        assert!(!at("elsewhere").exists());
    }
}
