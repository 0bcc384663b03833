//! A version changed in an editor, then pushed.

use std::path::Path;

use serde::Serialize;

use super::load;
use super::push::{CheckOptions, PushRequest, PushSource, Pushed, push};
use crate::domain::name::PlaybookName;
use crate::domain::playbook::{Content, ContentFile, ContentKind};
use crate::error::Error;
use crate::fs::{self, FsError};
use crate::ops::{Services, content};

pub struct EditRequest {
    pub name: PlaybookName,
    /// None: the default one.
    pub version: Option<u32>,
    /// Of a bundle; None: its entry.
    pub file: Option<String>,
    pub message: Option<String>,
    pub make_default: bool,
    pub check: CheckOptions,
    pub strict: bool,
}

#[derive(Debug, Clone, Serialize)]
pub struct Edited {
    pub name: PlaybookName,
    /// The version that was opened.
    pub edited: u32,
    /// False when the text came back as it was; then nothing is pushed.
    pub changed: bool,
    pub pushed: Option<Pushed>,
}

/// `editor` is given the file, and returns when the user is done with it. The
/// copy lies outside the store: an editor's own files stay out of it, and what
/// is refused can be kept.
pub fn edit(
    services: &Services<'_>,
    request: EditRequest,
    editor: &mut dyn FnMut(&Path) -> Result<(), Error>,
) -> Result<Edited, Error> {
    let name = &request.name;
    let (version, mut content) = load(services, name, request.version)?;
    let wanted = match (&request.file, content.kind) {
        (Some(file), ContentKind::Bundle) => file.clone(),
        (Some(_), ContentKind::File) => {
            return Err(Error::usage(format!(
                "--file names a file of a directory, but {name}@{} is a single file",
                version.version
            )));
        }
        (None, _) => content.entry.clone(),
    };
    let Some(file) = content.files.iter_mut().find(|f| f.path == wanted) else {
        return Err(Error::not_found(format!(
            "{name}@{} has no file `{}`",
            version.version,
            wanted.escape_debug()
        ))
        .hint(format!(
            "`kloigos playbook show {name} --version {}` lists its files",
            version.version
        )));
    };
    let copy = private_copy(services)?;
    let path = copy.path().join("edit").join(&wanted);
    write(&path, file)?;
    let ended = editor(&path);
    // An editor that gave up has perhaps saved before; that is not thrown away.
    let bytes = match (fs::read(&path), &ended) {
        (Ok(bytes), _) => bytes,
        (Err(_), Err(_)) => file.bytes.clone(),
        (Err(e), Ok(())) => return Err(e.into()),
    };
    let changed = bytes != file.bytes;
    file.bytes = bytes;
    let mut edited = Edited {
        name: name.clone(),
        edited: version.version,
        changed,
        pushed: None,
    };
    if !changed {
        return ended.map(|()| edited);
    }
    let push_request = PushRequest {
        name: name.clone(),
        source: PushSource::Content(content.clone()),
        entry: None,
        message: request.message,
        make_default: request.make_default,
        check: request.check,
        strict: request.strict,
    };
    match ended.and_then(|()| push(services, push_request)) {
        Ok(pushed) => {
            edited.pushed = Some(pushed);
            Ok(edited)
        }
        Err(e) => Err(keep(e, copy, &content, name)),
    }
}

/// Only its owner can look into it.
fn private_copy(services: &Services<'_>) -> Result<tempfile::TempDir, Error> {
    let tmp = Path::new(services.env.get("TMPDIR").unwrap_or("/tmp".as_ref()));
    Ok(tempfile::Builder::new()
        .prefix("kloigos-edit-")
        // The default follows the umask.
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .tempdir_in(tmp)
        .map_err(FsError::of("make a directory in", tmp))?)
}

fn write(path: &Path, file: &ContentFile) -> Result<(), Error> {
    if let Some(parent) = path.parent() {
        fs::create_private_dir(parent)?;
    }
    let mode = if file.executable { 0o700 } else { 0o600 };
    Ok(fs::write_with_mode(path, &file.bytes, mode)?)
}

/// What was typed is not lost with the refusal: the whole version is left
/// where `push` takes it, without what the editor put beside it.
fn keep(e: Error, copy: tempfile::TempDir, content: &Content, name: &PlaybookName) -> Error {
    let whole = copy.path().join(name.as_str());
    let written = content
        .files
        .iter()
        .try_for_each(|f| write(&whole.join(&f.path), f));
    let root = copy.keep();
    if written.is_err() {
        return e.hint(format!(
            "your text is kept in {}",
            root.join("edit").display()
        ));
    }
    let _ = fs::remove_tree(&root.join("edit"));
    let (path, entry) = match content.kind {
        ContentKind::File => (whole.join(&content.entry), String::new()),
        ContentKind::Bundle if content.entry == content::SINGLE_ENTRY => (whole, String::new()),
        ContentKind::Bundle => (whole, format!(" --entry {}", content.entry)),
    };
    e.hint(format!(
        "your text is kept: `kloigos playbook push {name} {}{entry}` tries again",
        path.display()
    ))
}
