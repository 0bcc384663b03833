//! Versioned playbooks: pushed, shown, exported, validated.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{Services, content, lifecycle};
use crate::domain::name::PlaybookName;
use crate::domain::playbook::{Content, Playbook, PlaybookVersion};
use crate::domain::variables::ExtraVar;
use crate::error::{Error, Kind};
use crate::runner::{self, Lint};
use crate::store::Tx;
use crate::store::playbooks::{Authorship, Packed};

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

pub enum PushSource {
    Path(PathBuf),
    Stdin(Vec<u8>),
}

pub struct PushRequest {
    pub name: PlaybookName,
    pub source: PushSource,
    pub entry: Option<String>,
    pub message: Option<String>,
    pub make_default: bool,
    pub variables: Vec<ExtraVar>,
    pub strict: bool,
}

#[derive(Debug, Clone, Serialize)]
pub struct Pushed {
    #[serde(flatten)]
    pub version: PlaybookVersion,
    /// False when the same content was already a version.
    pub new: bool,
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Exported {
    pub name: PlaybookName,
    pub version: u32,
    pub path: String,
    pub files: usize,
}

pub enum ValidateWhat {
    Stored {
        name: PlaybookName,
        version: Option<u32>,
    },
    Path(PathBuf),
    Stdin(Vec<u8>),
}

pub struct ValidateRequest {
    pub what: ValidateWhat,
    pub entry: Option<String>,
    pub variables: Vec<ExtraVar>,
}

/// What was looked at, and what is doubtful; what Ansible refuses is an error
/// before this.
#[derive(Debug, Clone, Serialize)]
pub struct Validation {
    pub warnings: Vec<String>,
    pub checks_run: Vec<String>,
    /// Each with the reason.
    pub not_run: Vec<String>,
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
            let lower = name.as_str().to_ascii_lowercase();
            let near = tx
                .playbooks()
                .list()?
                .into_iter()
                .find(|p| p.name.as_str().to_ascii_lowercase() == lower);
            let error = Error::not_found(format!("there is no playbook {name}"));
            match near {
                Some(near) => error.hint(format!("did you mean {}?", near.name)),
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
    let entry = content.files.iter().find(|f| f.path == content.entry);
    Ok(PlaybookDetail {
        entry_text: entry
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

/// Validates, then adds a version. A refused push leaves nothing; the same
/// content twice makes no new version.
pub fn push(services: &Services<'_>, request: PushRequest) -> Result<Pushed, Error> {
    let content = match request.source {
        PushSource::Path(path) => content::read(&path, request.entry.as_deref())?,
        PushSource::Stdin(bytes) => content::single(bytes)?,
    };
    let mut warnings = secrets(&content);
    if request.strict && !warnings.is_empty() {
        return Err(Error::new(Kind::Refused, warnings.join("; "))
            .hint("take the secret out, or encrypt it with ansible-vault; without --strict this is a warning"));
    }
    warnings.extend(check(services, &content, &request.variables)?);
    if let Lint::Findings(findings) = runner::lint(services.env, services.paths, &content)? {
        if request.strict && !findings.is_empty() {
            return Err(Error::new(
                Kind::Refused,
                format!("ansible-lint: {}", findings.join("; ")),
            )
            .hint("mend what it found; without --strict these are warnings"));
        }
        warnings.extend(findings);
    }
    let packed = Packed::of(&content)
        .map_err(|e| Error::new(Kind::Local, format!("cannot pack the playbook: {e}")))?;
    let name = &request.name;
    let (version, new) = services.store.write(|tx| {
        let same = tx
            .playbooks()
            .versions(name)?
            .into_iter()
            .find(|v| v.digest == packed.digest());
        let (number, new) = match same {
            Some(same) => (same.version, false),
            None => {
                let by = Authorship {
                    author: &services.env.user,
                    message: request.message.as_deref(),
                    packaged: false,
                };
                let number = tx
                    .playbooks()
                    .insert_version(name, &content, &packed, &by)?;
                (number, true)
            }
        };
        let version = find(tx, name, Some(number))?;
        if request.make_default && !version.is_default {
            tx.playbooks().set_default(name, number)?;
        }
        Ok::<_, Error>((find(tx, name, Some(number))?, new))
    })?;
    Ok(Pushed {
        version,
        new,
        warnings,
    })
}

/// Ansible's own syntax check; its warnings.
fn check(
    services: &Services<'_>,
    content: &Content,
    variables: &[ExtraVar],
) -> Result<Vec<String>, Error> {
    let engine = lifecycle::engine_for_checks(*services)?;
    runner::check_syntax(&engine, content, variables)
}

/// Text that looks like a private key or a token, by file.
fn secrets(content: &Content) -> Vec<String> {
    const MARKS: &[(&str, &str)] = &[
        ("PRIVATE KEY-----", "a private key"),
        ("AKIA", "a cloud access key"),
        ("ghp_", "an access token"),
        ("glpat-", "an access token"),
        ("xoxb-", "an access token"),
    ];
    let mut found = Vec::new();
    for file in &content.files {
        let text = String::from_utf8_lossy(&file.bytes);
        for (number, line) in text.lines().enumerate() {
            for (mark, what) in MARKS {
                if looks_like(line, mark) {
                    found.push(format!("{}:{} looks like {what}", file.path, number + 1));
                }
            }
        }
    }
    found
}

/// A mark at a word's beginning with at least 16 word characters after it, or
/// the begin line of a PEM block.
fn looks_like(line: &str, mark: &str) -> bool {
    if mark.ends_with("-----") {
        return line.contains("-----BEGIN ") && line.contains(mark);
    }
    line.match_indices(mark).any(|(at, _)| {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        !line[..at].ends_with(word)
            && line[at + mark.len()..]
                .chars()
                .take_while(|c| word(*c))
                .count()
                >= 16
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

pub fn validate(services: &Services<'_>, request: ValidateRequest) -> Result<Validation, Error> {
    let content = match request.what {
        ValidateWhat::Stored { name, version } => load(services, &name, version)?.1,
        ValidateWhat::Path(path) => content::read(&path, request.entry.as_deref())?,
        ValidateWhat::Stdin(bytes) => content::single(bytes)?,
    };
    let mut warnings = secrets(&content);
    warnings.extend(check(services, &content, &request.variables)?);
    let (mut checks_run, mut not_run) = (
        vec!["ansible-playbook --syntax-check".to_owned()],
        Vec::new(),
    );
    match runner::lint(services.env, services.paths, &content)? {
        Lint::Findings(findings) => {
            checks_run.push("ansible-lint".to_owned());
            warnings.extend(findings);
        }
        Lint::NotRun(why) => not_run.push(format!("ansible-lint: {why}")),
    }
    Ok(Validation {
        warnings,
        checks_run,
        not_run,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_tokens_are_seen_and_ordinary_words_are_not() {
        let content = content::single(
            b"-----BEGIN OPENSSH PRIVATE KEY-----\nx: AKIAIOSFODNN7EXAMPLEKEY\ny: MAKIAVELLI\nz: ghp_short\n"
                .to_vec(),
        )
        .unwrap();
        assert_eq!(
            secrets(&content),
            [
                "playbook.yml:1 looks like a private key",
                "playbook.yml:2 looks like a cloud access key"
            ]
        );
    }
}
