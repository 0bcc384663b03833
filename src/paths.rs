//! Where everything of one installation lives.

use std::path::{Path, PathBuf};

use crate::domain::run::RunId;
use crate::env::Env;

/// Paths under the one data directory.
#[derive(Debug, Clone)]
pub struct Paths {
    root: PathBuf,
}

impl Paths {
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Paths { root: root.into() }
    }

    /// `--store`, else `KLOIGOS_HOME`, else the platform's data directory.
    /// None when there is neither a home directory nor a choice.
    pub fn resolve(store: Option<&Path>, env: &Env) -> Option<Self> {
        let chosen = store
            .map(Path::to_owned)
            .or_else(|| env.get("KLOIGOS_HOME").map(PathBuf::from));
        let root = match chosen {
            Some(path) => env.cwd.join(path),
            None => directories::ProjectDirs::from("", "", "kloigos")?
                .data_dir()
                .to_owned(),
        };
        Some(Paths { root })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }
    pub fn database(&self) -> PathBuf {
        self.root.join("kloigos.db")
    }
    pub fn locks(&self) -> PathBuf {
        self.root.join("locks")
    }
    pub fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }
    /// What a run needs while it lives; its liveness lock `alive` outlives it.
    pub fn run(&self, id: RunId) -> PathBuf {
        self.runs().join(id.to_string())
    }
    pub fn liveness_lock(&self, id: RunId) -> PathBuf {
        self.run(id).join("alive")
    }
    pub fn ansible(&self) -> PathBuf {
        self.root.join("ansible")
    }
    /// Host keys accepted at `server add`.
    pub fn known_hosts(&self) -> PathBuf {
        self.ansible().join("known_hosts")
    }
    /// Held while the store is made or migrated.
    pub fn migration_lock(&self) -> PathBuf {
        self.locks().join("migrate")
    }
}
