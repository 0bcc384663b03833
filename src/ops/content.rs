//! Reading a version's content from files, and writing it back, byte-exact.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::domain::playbook::{Content, ContentFile, ContentKind};
use crate::error::Error;
use crate::fs;

/// More than any playbook needs; a directory given by mistake is refused
/// before it fills the store.
pub const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Never part of a bundle.
const LEFT_OUT: &[&str] = &[".git", "__pycache__", ".ansible"];

/// The one file of a version that is not a bundle.
pub const SINGLE_ENTRY: &str = "playbook.yml";

/// A single playbook from bytes.
pub fn single(bytes: Vec<u8>) -> Result<Content, Error> {
    if bytes.is_empty() {
        return Err(Error::usage("the playbook is empty"));
    }
    Ok(Content {
        kind: ContentKind::File,
        entry: SINGLE_ENTRY.to_owned(),
        files: vec![ContentFile {
            path: SINGLE_ENTRY.to_owned(),
            executable: false,
            bytes,
        }],
    })
}

/// How messages name a single file: as the user did.
pub fn shown_as(content: &Content, path: &Path) -> Option<String> {
    (content.kind == ContentKind::File).then(|| path.display().to_string())
}

/// A file, or a directory bundle with its entry.
pub fn read(path: &Path, entry: Option<&str>) -> Result<Content, Error> {
    let meta = std::fs::metadata(path)
        .map_err(fs::FsError::of("read", path))
        .map_err(Error::usage)?;
    if !meta.is_dir() {
        if entry.is_some() {
            return Err(Error::usage(format!(
                "--entry names a file of a directory, but {} is a file",
                path.display()
            )));
        }
        if !meta.is_file() {
            return Err(Error::usage(format!(
                "{} is neither a file nor a directory",
                path.display()
            )));
        }
        if meta.len() > MAX_BYTES {
            return Err(too_large(path));
        }
        return single(fs::read(path)?);
    }
    let root = path
        .canonicalize()
        .map_err(fs::FsError::of("read the directory", path))?;
    let mut files = Vec::new();
    let mut total = 0;
    walk(&root, &root, &mut BTreeSet::new(), &mut files, &mut total)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let entry = entry.unwrap_or(SINGLE_ENTRY).to_owned();
    if !files.iter().any(|f| f.path == entry) {
        return Err(Error::usage(format!(
            "{} has no file `{}`",
            path.display(),
            entry.escape_debug()
        ))
        .hint("name the playbook of the directory with --entry FILE"));
    }
    Ok(Content {
        kind: ContentKind::Bundle,
        entry,
        files,
    })
}

fn too_large(path: &Path) -> Error {
    Error::usage(format!(
        "{} has more than {} MiB, too much for a playbook",
        path.display(),
        MAX_BYTES / 1024 / 1024
    ))
}

fn walk(
    root: &Path,
    dir: &Path,
    above: &mut BTreeSet<PathBuf>,
    files: &mut Vec<ContentFile>,
    total: &mut u64,
) -> Result<(), Error> {
    let real = dir
        .canonicalize()
        .map_err(fs::FsError::of("read the directory", dir))?;
    if !real.starts_with(root) {
        return Err(Error::usage(format!(
            "{} is a link that leaves the bundle; a version must be self-contained",
            dir.display()
        )));
    }
    if !above.insert(real.clone()) {
        return Err(Error::usage(format!(
            "{} is a link to a directory that contains it",
            dir.display()
        )));
    }
    let entries = std::fs::read_dir(dir).map_err(fs::FsError::of("read the directory", dir))?;
    for item in entries {
        let path = item
            .map_err(fs::FsError::of("read the directory", dir))?
            .path();
        let Some(name) = path.file_name().and_then(|n| n.to_str()) else {
            return Err(Error::usage(format!(
                "{} has a name that is not UTF-8",
                path.display()
            )));
        };
        if LEFT_OUT.contains(&name) {
            continue;
        }
        let meta = std::fs::metadata(&path).map_err(fs::FsError::of("read", &path))?;
        if meta.is_dir() {
            walk(root, &path, above, files, total)?;
            continue;
        }
        let real = path
            .canonicalize()
            .map_err(fs::FsError::of("read", &path))?;
        if !real.starts_with(root) {
            return Err(Error::usage(format!(
                "{} is a link that leaves the bundle; a version must be self-contained",
                path.display()
            )));
        }
        if !meta.is_file() {
            return Err(Error::usage(format!(
                "{} is neither a file nor a directory",
                path.display()
            )));
        }
        *total += meta.len();
        if *total > MAX_BYTES {
            return Err(too_large(root));
        }
        files.push(ContentFile {
            path: relative(root, &path),
            executable: fs::is_executable(&path),
            bytes: fs::read(&path)?,
        });
    }
    above.remove(&real);
    Ok(())
}

/// `/`-separated, below `root` as walked.
fn relative(root: &Path, path: &Path) -> String {
    let parts: Vec<String> = path
        .strip_prefix(root)
        .unwrap_or(path)
        .components()
        .filter_map(|c| match c {
            Component::Normal(part) => Some(part.to_string_lossy().into_owned()),
            _ => None,
        })
        .collect();
    parts.join("/")
}

/// Writes a single file to `to`, or into it where it is a directory; a bundle's
/// files under `to`, which is made if missing. Nothing that is there is
/// replaced.
pub fn write_new(content: &Content, to: &Path) -> Result<(), Error> {
    let single = content.kind == ContentKind::File && !to.is_dir();
    let place = |file: &ContentFile| match single {
        true => to.to_owned(),
        false => to.join(&file.path),
    };
    for file in &content.files {
        let path = place(file);
        if path.symlink_metadata().is_ok() {
            return Err(Error::new(
                crate::error::Kind::Exists,
                format!("{} is already there", path.display()),
            )
            .hint("export to a name that is free; a bundle into an empty directory"));
        }
    }
    for file in &content.files {
        let path = place(file);
        if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            std::fs::create_dir_all(parent)
                .map_err(fs::FsError::of("make the directory", parent))?;
        }
        let mode = if file.executable { 0o755 } else { 0o644 };
        fs::write_with_mode(&path, &file.bytes, mode)?;
    }
    Ok(())
}
