//! Vault identities as Ansible writes them: `label@source`, or a source alone.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VaultSource {
    /// Asked for on the terminal.
    Prompt,
    /// A file with the password, or a program that prints it.
    File(PathBuf),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultId {
    pub label: String,
    pub source: VaultSource,
}

/// Ansible's own name for an identity without one.
const DEFAULT: &str = "default";

impl VaultId {
    /// What `--ask-vault-pass` means.
    pub fn asked() -> Self {
        VaultId {
            label: DEFAULT.to_owned(),
            source: VaultSource::Prompt,
        }
    }
}

impl std::str::FromStr for VaultId {
    type Err = Infallible;

    fn from_str(s: &str) -> Result<Self, Infallible> {
        let (label, source) = match s.split_once('@') {
            Some((label, source)) if !label.is_empty() => (label, source),
            Some((_, source)) => (DEFAULT, source),
            None => (DEFAULT, s),
        };
        Ok(VaultId {
            label: label.to_owned(),
            source: match source {
                "prompt" | "prompt_ask_vault_pass" => VaultSource::Prompt,
                file => VaultSource::File(file.into()),
            },
        })
    }
}

impl fmt::Display for VaultId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            VaultSource::Prompt => write!(f, "{}@prompt", self.label),
            VaultSource::File(path) => write!(f, "{}@{}", self.label, path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_split_at_the_first_sign() {
        for (text, shown) in [
            ("dev@~/a@b", "dev@~/a@b"),
            ("secret.txt", "default@secret.txt"),
            ("@secret.txt", "default@secret.txt"),
            ("prompt", "default@prompt"),
            ("dev@prompt", "dev@prompt"),
        ] {
            let Ok(id) = text.parse::<VaultId>();
            assert_eq!(id.to_string(), shown);
            assert_eq!(id.source == VaultSource::Prompt, shown.ends_with("@prompt"));
        }
    }
}
