//! Why Ansible could not be found or started.

use std::path::PathBuf;

use thiserror::Error;

#[derive(Debug, Error)]
pub enum AnsibleError {
    #[error("setting {setting} names {}, which is not an executable file", path.display())]
    SettingMissing {
        setting: &'static str,
        path: PathBuf,
    },
    #[error("{} gave no version: {why}", path.display())]
    Broken { path: PathBuf, why: String },
    #[error("{} is ansible-core {found}; 2.16 or newer is needed", path.display())]
    TooOld { path: PathBuf, found: String },
    #[error(
        "no ansible-core 2.16 or newer is on PATH, and the private environment is not made yet"
    )]
    Missing,
    #[error("python3 is not on PATH, so no private environment with Ansible can be made")]
    NoPython,
    #[error("python3 cannot make a virtual environment: {0}")]
    NoVenv(String),
    #[error("ansible-core could not be installed into {}: {why}", path.display())]
    InstallFailed { path: PathBuf, why: String },
    #[error("cannot start {}: {source}", path.display())]
    Spawn {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error(transparent)]
    File(#[from] crate::fs::FsError),
}

impl AnsibleError {
    pub fn hints(&self) -> Vec<String> {
        match self {
            AnsibleError::SettingMissing { setting, .. } => vec![format!(
                "`kloigos setting set {setting} FILE` names another"
            )],
            AnsibleError::TooOld { .. } | AnsibleError::Missing | AnsibleError::Broken { .. } => {
                vec!["`kloigos init` makes a private environment with a suitable one".into()]
            }
            AnsibleError::NoPython => vec!["install it: `apt install python3 python3-venv`".into()],
            AnsibleError::NoVenv(_) => vec!["install it: `apt install python3-venv`".into()],
            AnsibleError::InstallFailed { .. } => vec![
                "check that this machine reaches a Python package index (PIP_INDEX_URL, proxy), or install ansible-core yourself; then repeat `kloigos init`".into(),
            ],
            AnsibleError::Spawn { .. } | AnsibleError::File(_) => Vec::new(),
        }
    }
}
