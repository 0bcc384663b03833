//! A new version: validated, then stored.

use std::path::PathBuf;

use serde::Serialize;

use super::{find, in_other_case, load};
use crate::domain::name::PlaybookName;
use crate::domain::playbook::{Content, PlaybookVersion};
use crate::domain::secret::Secret;
use crate::domain::variables::ExtraVar;
use crate::domain::vault::VaultId;
use crate::error::{Error, Kind};
use crate::ops::{Services, content, lifecycle, secrets};
use crate::runner::{self, Lint, Vault};
use crate::store::Tx;
use crate::store::playbooks::{Authorship, Packed};

pub enum PushSource {
    Path(PathBuf),
    Stdin(Vec<u8>),
    Content(Content),
}

/// What Ansible is given for the check, beside the playbook.
#[derive(Debug, Default)]
pub struct CheckOptions {
    pub variables: Vec<ExtraVar>,
    pub vault_ids: Vec<VaultId>,
    /// One for each vault identity that asks, in their order.
    pub vault_passwords: Vec<Secret>,
}

pub struct PushRequest {
    pub name: PlaybookName,
    pub source: PushSource,
    pub entry: Option<String>,
    pub message: Option<String>,
    pub make_default: bool,
    pub check: CheckOptions,
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
    pub check: CheckOptions,
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

/// Validates, then adds a version. A refused push leaves nothing; the same
/// content twice makes no new version.
pub fn push(services: &Services<'_>, request: PushRequest) -> Result<Pushed, Error> {
    services
        .store
        .read(|tx| refuse_other_case(tx, &request.name))?;
    let (content, shown) = match request.source {
        PushSource::Path(path) => {
            let content = content::read(&path, request.entry.as_deref())?;
            let shown = content::shown_as(&content, &path);
            (content, shown)
        }
        PushSource::Stdin(bytes) => (content::single(bytes)?, None),
        PushSource::Content(content) => (content, None),
    };
    let checks = Checks::of(services, &request.check, shown)?;
    let mut warnings = checks.named(leaks(&content));
    if request.strict && !warnings.is_empty() {
        return Err(Error::new(Kind::Refused, warnings.join("; "))
            .hint("take the secret out, or encrypt it with ansible-vault; without --strict this is a warning"));
    }
    warnings.extend(checks.syntax(services, &content)?);
    match checks.lint(services, &content)? {
        Lint::Findings(findings) if request.strict && !findings.is_empty() => {
            return Err(Error::new(
                Kind::Refused,
                format!("ansible-lint: {}", findings.join("; ")),
            )
            .hint("mend what it found; without --strict these are warnings"));
        }
        Lint::Findings(findings) => warnings.extend(findings),
        // Who is strict must know that it was not looked at.
        Lint::NotRun(why) if request.strict => {
            warnings.push(format!("ansible-lint did not look at it: {why}"));
        }
        Lint::NotRun(_) => {}
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

/// Two names that differ only in case would be taken for one by people.
fn refuse_other_case(tx: &Tx<'_>, name: &PlaybookName) -> Result<(), Error> {
    match in_other_case(tx, name)? {
        Some(other) => {
            Err(
                Error::new(Kind::Exists, format!("there is a playbook {other} already")).hint(
                    format!("push to {other}, or choose a name that differs by more than case"),
                ),
            )
        }
        None => Ok(()),
    }
}

/// What the checks are given, its passwords read.
struct Checks<'a> {
    variables: &'a [ExtraVar],
    vaults: Vec<Vault>,
    /// The user's own name of a single file, which is checked under another.
    shown: Option<String>,
}

impl<'a> Checks<'a> {
    fn of(
        services: &Services<'_>,
        options: &'a CheckOptions,
        shown: Option<String>,
    ) -> Result<Self, Error> {
        let typed = &options.vault_passwords;
        Ok(Checks {
            variables: &options.variables,
            vaults: secrets::vaults(services.env, &options.vault_ids, typed)?,
            shown,
        })
    }

    fn name(&self, text: &str) -> String {
        match &self.shown {
            Some(shown) => {
                text.replace(&format!("{}:", content::SINGLE_ENTRY), &format!("{shown}:"))
            }
            None => text.to_owned(),
        }
    }

    fn named(&self, texts: Vec<String>) -> Vec<String> {
        texts.iter().map(|t| self.name(t)).collect()
    }

    /// Ansible's own syntax check; its warnings.
    fn syntax(&self, services: &Services<'_>, content: &Content) -> Result<Vec<String>, Error> {
        let engine = lifecycle::engine_for_checks(*services)?;
        match runner::check_syntax(&engine, content, self.variables, &self.vaults) {
            Ok(warnings) => Ok(self.named(warnings)),
            Err(e) => Err(Error {
                message: self.name(&e.message),
                ..e
            }),
        }
    }

    fn lint(&self, services: &Services<'_>, content: &Content) -> Result<Lint, Error> {
        let lint = runner::lint(services.env, services.paths, content, &self.vaults)?;
        Ok(match lint {
            Lint::Findings(findings) => Lint::Findings(self.named(findings)),
            not_run @ Lint::NotRun(_) => not_run,
        })
    }
}

/// What looks like a private key, a token or a password, by file.
fn leaks(content: &Content) -> Vec<String> {
    const MARKS: &[(&str, &str)] = &[
        ("PRIVATE KEY-----", "a private key"),
        ("AKIA", "a cloud access key"),
        ("ghp_", "an access token"),
        ("glpat-", "an access token"),
        ("xoxb-", "an access token"),
    ];
    let mut found = Vec::new();
    for file in &content.files {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        let name = name.to_ascii_lowercase().replace('-', "_");
        if name.contains("vault_pass") || name == ".vault" {
            found.push(format!("{} looks like a vault password", file.path));
        }
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

pub fn validate(services: &Services<'_>, request: ValidateRequest) -> Result<Validation, Error> {
    let (content, shown) = match request.what {
        ValidateWhat::Stored { name, version } => (load(services, &name, version)?.1, None),
        ValidateWhat::Path(path) => {
            let content = content::read(&path, request.entry.as_deref())?;
            let shown = content::shown_as(&content, &path);
            (content, shown)
        }
        ValidateWhat::Stdin(bytes) => (content::single(bytes)?, None),
    };
    let checks = Checks::of(services, &request.check, shown)?;
    let mut warnings = checks.named(leaks(&content));
    warnings.extend(checks.syntax(services, &content)?);
    let (mut checks_run, mut not_run) = (
        vec!["ansible-playbook --syntax-check".to_owned()],
        Vec::new(),
    );
    match checks.lint(services, &content)? {
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
            leaks(&content),
            [
                "playbook.yml:1 looks like a private key",
                "playbook.yml:2 looks like a cloud access key"
            ]
        );
    }
}
