//! What is secret in a run, made ready before the run is registered.

use std::path::Path;

use serde_json::{Map, Value};

use crate::domain::masker::{self, Masker};
use crate::domain::report::{Report, Reporter};
use crate::domain::secret::{self, Secret, SecretFile, SecretVars};
use crate::domain::vault::{VaultId, VaultSource};
use crate::env::Env;
use crate::error::Error;
use crate::fs::FsError;
use crate::runner::{Password, Vault};

/// Secrets that were given or typed.
#[derive(Debug, Default)]
pub struct SecretAsk {
    pub files: Vec<SecretFile>,
    /// Win over those of files.
    pub variables: SecretVars,
    pub become_password: Option<Secret>,
    /// One for each vault identity that asks, in their order.
    pub vault_passwords: Vec<Secret>,
}

impl SecretAsk {
    /// For the history.
    pub fn names(&self) -> Vec<&str> {
        let mut names = self.variables.names();
        names.extend(self.files.iter().flat_map(|f| f.names()));
        names.sort_unstable();
        names.dedup();
        names
    }

    fn texts(&self) -> Vec<(&str, String)> {
        let variables = self.variables.reveal().iter();
        let files = self.files.iter().flat_map(|f| f.values());
        variables
            .chain(files)
            .flat_map(|(name, value)| {
                secret::texts(value)
                    .into_iter()
                    .map(move |text| (name.as_str(), text))
            })
            .collect()
    }

    /// A plain variable that holds a secret is one itself: the history would
    /// keep it.
    pub(super) fn take_over(&mut self, plain: &mut Map<String, Value>) -> Result<(), Error> {
        if let Some(name) = self.names().into_iter().find(|n| plain.contains_key(*n)) {
            return Err(Error::usage(format!(
                "`{name}` is given both as a variable and as a secret"
            )));
        }
        let texts = self.texts();
        let masker = Masker::new(texts.iter().map(|(_, text)| text.as_str()));
        let (secret, open): (Map<_, _>, Map<_, _>) = std::mem::take(plain)
            .into_iter()
            .partition(|(_, value)| masker.value(value.clone()) != *value);
        *plain = open;
        for (name, value) in secret {
            self.variables.insert(name, value);
        }
        Ok(())
    }

    /// Says which values cannot be hidden.
    pub(super) fn warn_of_short(&self, reporter: &mut dyn Reporter) {
        let mut names: Vec<String> = self
            .texts()
            .iter()
            .filter(|(_, text)| !text.is_empty() && !Masker::hides(text))
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        names.dedup();
        if !names.is_empty() {
            reporter.report(&Report::Warning(format!(
                "not hidden in output, since shorter than {} characters: {}",
                masker::SHORTEST,
                names.join(", ")
            )));
        }
    }
}

/// A file that Ansible will read: there, readable, no directory.
pub(super) fn readable(path: &Path, what: &str) -> Result<(), Error> {
    let found = std::fs::metadata(path)
        .map_err(FsError::of("read", path))
        .map_err(|e| Error::usage(format!("no {what}: {e}")))?;
    if found.is_dir() {
        return Err(Error::usage(format!(
            "no {what}: {} is a directory",
            path.display()
        )));
    }
    rustix::fs::access(path, rustix::fs::Access::READ_OK)
        .map_err(std::io::Error::from)
        .map_err(FsError::of("read", path))
        .map_err(|e| Error::usage(format!("no {what}: {e}")))
}

/// The password in a file. A program that prints it is started by Ansible.
pub(super) fn password(env: &Env, path: &Path, what: &str) -> Result<Password, Error> {
    let path = env.file(path);
    readable(&path, what)?;
    if crate::fs::is_executable(&path) {
        return Ok(Password::File(path));
    }
    let bytes = crate::fs::read(&path).map_err(|e| Error::usage(format!("no {what}: {e}")))?;
    if bytes.trim_ascii().is_empty() {
        return Err(Error::usage(format!(
            "no {what}: {} is empty",
            path.display()
        )));
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => Password::Text(Secret::new(text)),
        Err(_) => Password::File(path),
    })
}

/// Where the vault passwords come from; `typed` are those that were asked for.
pub(super) fn vaults(env: &Env, ids: &[VaultId], typed: &[Secret]) -> Result<Vec<Vault>, Error> {
    let mut typed = typed.iter();
    ids.iter()
        .map(|id| {
            let password = match &id.source {
                VaultSource::File(path) => password(env, path, "vault password")?,
                VaultSource::Prompt => {
                    typed.next().cloned().map(Password::Text).ok_or_else(|| {
                        Error::usage(format!("no vault password was typed for `{}`", id.label))
                    })?
                }
            };
            Ok(Vault {
                label: id.label.clone(),
                password,
            })
        })
        .collect()
}

/// The password for become: typed, or in a file.
pub(super) fn become_password(
    env: &Env,
    typed: Option<&Secret>,
    file: Option<&Path>,
) -> Result<Option<Password>, Error> {
    match (typed, file) {
        (Some(typed), _) => Ok(Some(Password::Text(typed.clone()))),
        (None, Some(file)) => password(env, file, "become password").map(Some),
        (None, None) => Ok(None),
    }
}
