//! What a run needs on disk while it lives: `runs/<id>/` with the playbook, its
//! inventory, variables and callback. All of it, variables first, is gone after
//! the end; only the liveness lock stays.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::playbook::Content;
use crate::domain::run::RunId;
use crate::domain::secret::Secret;
use crate::error::{Error, Kind};
use crate::fs::{self, FsError};
use crate::paths::Paths;

/// What Ansible is started for beside the playbook of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    List,
    Prepare,
    Cleanup,
}

impl Stage {
    pub(super) fn word(self) -> &'static str {
        match self {
            Stage::List => "list",
            Stage::Prepare => "prepare",
            Stage::Cleanup => "cleanup",
        }
    }
}

/// The credentials of a run whose process died.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CredentialsLeft {
    pub(super) dir: PathBuf,
    pub(super) retain: bool,
    /// The cleanup playbook that was to run, as NAME@VERSION.
    pub(super) cleanup: Option<String>,
}

/// The directory of a run, or of a syntax check.
pub(super) struct RunFiles {
    dir: PathBuf,
    /// For ssh's control sockets: short, since a socket's path may have 108
    /// bytes with ssh's own additions.
    control: tempfile::TempDir,
}

impl RunFiles {
    pub(super) fn create(dir: PathBuf) -> Result<Self, Error> {
        fs::create_private_dir(&dir).map_err(Error::store)?;
        let tmp = Path::new("/tmp");
        let control = tempfile::Builder::new()
            .prefix("kl-")
            .rand_bytes(8)
            // The default follows the umask.
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700))
            .tempdir_in(tmp)
            .map_err(FsError::of("make a directory in", tmp))?;
        // Where a later sweep finds it after a kill.
        fs::write_private(
            &dir.join(CONTROL),
            control.path().as_os_str().as_encoded_bytes(),
        )
        .map_err(Error::store)?;
        Ok(RunFiles { dir, control })
    }

    pub(super) fn project(&self) -> PathBuf {
        self.dir.join(PROJECT)
    }
    pub(super) fn callback(&self) -> PathBuf {
        self.dir.join("callback")
    }
    pub(super) fn local_tmp(&self) -> PathBuf {
        self.dir.join("tmp")
    }
    pub(super) fn control(&self) -> &Path {
        self.control.path()
    }

    /// The content, byte-exact; gives the playbook's path.
    pub(super) fn write_content(&self, content: &Content) -> Result<PathBuf, Error> {
        for file in &content.files {
            let mode = if file.executable { 0o700 } else { 0o600 };
            self.write(&format!("{PROJECT}/{}", file.path), &file.bytes, mode)?;
        }
        Ok(self.project().join(&content.entry))
    }

    /// JSON is YAML to Ansible, and has one spelling for each value.
    pub(super) fn write_variables(&self, variables: &Map<String, Value>) -> Result<PathBuf, Error> {
        self.write_mapping(VARIABLES, variables)
    }

    pub(super) fn write_store_variables(
        &self,
        variables: &Map<String, Value>,
    ) -> Result<PathBuf, Error> {
        self.write_mapping(STORE_VARIABLES, variables)
    }

    fn write_mapping(&self, name: &str, variables: &Map<String, Value>) -> Result<PathBuf, Error> {
        let text = serde_json::to_vec(variables)
            .map_err(|e| Error::new(Kind::Local, format!("cannot write the variables: {e}")))?;
        self.write(name, &text, 0o600)
    }

    fn write(&self, name: &str, bytes: &[u8], mode: u32) -> Result<PathBuf, Error> {
        let path = self.dir.join(name);
        if let Some(parent) = path.parent() {
            fs::create_private_dir(parent).map_err(Error::store)?;
        }
        fs::write_with_mode(&path, bytes, mode).map_err(Error::store)?;
        Ok(path)
    }

    /// A password, or variables that nobody shall read, as they were given.
    pub(super) fn write_secret(&self, name: &str, secret: &Secret) -> Result<PathBuf, Error> {
        let bytes = secret.reveal().as_bytes();
        self.write(&format!("{SECRETS}/{name}"), bytes, 0o600)
    }

    /// A script that stands in for another program; gives its path.
    pub(super) fn write_program(&self, name: &str, script: &str) -> Result<PathBuf, Error> {
        self.write(&format!("programs/{name}"), script.as_bytes(), 0o700)
    }

    /// For another start of Ansible within the same run.
    pub(super) fn stage(&self, stage: Stage) -> Result<RunFiles, Error> {
        RunFiles::create(self.dir.join(stage.word()))
    }

    /// Where a later sweep finds the run's credentials after a kill.
    pub(super) fn note_credentials(&self, left: &CredentialsLeft) -> Result<(), Error> {
        let text = serde_json::to_vec(left)
            .map_err(|e| Error::new(Kind::Local, format!("cannot note the credentials: {e}")))?;
        self.write(CREDENTIALS, &text, 0o600)?;
        Ok(())
    }

    /// Hosts by name, however many; gives what `--limit` takes. Relative to the
    /// project, since a path of the user's may hold what separates patterns.
    pub(super) fn write_limit(&self, hosts: &[String]) -> Result<String, Error> {
        let text = hosts.join("\n") + "\n";
        self.write("limit", text.as_bytes(), 0o600)?;
        Ok("@../limit".to_owned())
    }

    pub(super) fn write_inventory(&self, text: &str) -> Result<PathBuf, Error> {
        self.write("inventory.yml", text.as_bytes(), 0o600)
    }
}

impl Drop for RunFiles {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next sweep or prune;
        // the run's outcome does not depend on it.
        let _ = empty(&self.dir);
    }
}

const CONTROL: &str = "control";
const PROJECT: &str = "project";
const CREDENTIALS: &str = "credentials";
const SECRETS: &str = "secrets";
const VARIABLES: &str = "variables.json";
const STORE_VARIABLES: &str = "store-variables.json";
const ALIVE: &str = "alive";

/// Removes all but the liveness lock, what may be secret first.
fn empty(dir: &Path) -> Result<(), FsError> {
    let _ = std::fs::remove_file(dir.join(VARIABLES));
    let _ = fs::remove_tree(&dir.join(SECRETS));
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(FsError::of("read the directory", dir)(e)),
    };
    for entry in entries.flatten() {
        if entry.file_name() == ALIVE {
            continue;
        }
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            fs::remove_tree(&path)?;
        } else {
            std::fs::remove_file(&path).map_err(FsError::of("remove", &path))?;
        }
    }
    Ok(())
}

/// After a kill, if the run had credentials of its own.
pub(super) fn credentials_left(paths: &Paths, id: RunId) -> Option<CredentialsLeft> {
    let text = fs::read(&paths.run(id).join(CREDENTIALS)).ok()?;
    serde_json::from_slice(&text).ok()
}

/// After a kill: the run's files, its credentials, and its control directories
/// if they are still the private ones that the run made.
pub(super) fn clean(paths: &Paths, id: RunId) -> Result<(), Error> {
    let dir = paths.run(id);
    if let Some(left) = credentials_left(paths, id).filter(|l| !l.retain)
        && fs::guarded::is_private_dir(&left.dir)
    {
        fs::remove_tree(&left.dir)?;
    }
    let stages = [Stage::List, Stage::Prepare, Stage::Cleanup].map(|s| dir.join(s.word()));
    for dir in stages.iter().chain([&dir]) {
        let Ok(control) = std::fs::read_to_string(dir.join(CONTROL)) else {
            continue;
        };
        let control = Path::new(&control);
        let named = control
            .file_name()
            .is_some_and(|n| n.to_string_lossy().starts_with("kl-"));
        if named && fs::guarded::is_private_dir(control) {
            fs::remove_tree(control)?;
        }
    }
    Ok(empty(&dir)?)
}
