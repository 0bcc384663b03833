//! What a run needs on disk while it lives: `runs/<id>/` with the playbook, its
//! inventory, variables and callback. All of it, variables first, is gone after
//! the end; only the liveness lock stays.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::domain::playbook::Content;
use crate::domain::run::RunId;
use crate::domain::secret::Secret;
use crate::error::{Error, Kind};
use crate::fs::{self, FsError};
use crate::paths::Paths;

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
        self.dir.join("project")
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
        let project = self.project();
        fs::create_private_dir(&project).map_err(Error::store)?;
        for file in &content.files {
            let path = project.join(&file.path);
            if let Some(parent) = path.parent() {
                fs::create_private_dir(parent).map_err(Error::store)?;
            }
            let mode = if file.executable { 0o700 } else { 0o600 };
            fs::write_with_mode(&path, &file.bytes, mode).map_err(Error::store)?;
        }
        Ok(project.join(&content.entry))
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
        let path = self.dir.join(name);
        let text = serde_json::to_vec(variables)
            .map_err(|e| Error::new(Kind::Local, format!("cannot write the variables: {e}")))?;
        fs::write_private(&path, &text).map_err(Error::store)?;
        Ok(path)
    }

    /// A password, or variables that nobody shall read, as they were given.
    pub(super) fn write_secret(&self, name: &str, secret: &Secret) -> Result<PathBuf, Error> {
        let dir = self.dir.join(SECRETS);
        fs::create_private_dir(&dir)?;
        let path = dir.join(name);
        fs::write_private(&path, secret.reveal().as_bytes())?;
        Ok(path)
    }

    /// Hosts by name, however many; gives what `--limit` takes. Relative to the
    /// project, since a path of the user's may hold what separates patterns.
    pub(super) fn write_limit(&self, hosts: &[String]) -> Result<String, Error> {
        let path = self.dir.join("limit");
        fs::write_private(&path, (hosts.join("\n") + "\n").as_bytes()).map_err(Error::store)?;
        Ok("@../limit".to_owned())
    }

    pub(super) fn write_inventory(&self, text: &str) -> Result<PathBuf, Error> {
        let path = self.dir.join("inventory.yml");
        fs::write_private(&path, text.as_bytes()).map_err(Error::store)?;
        Ok(path)
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

/// After a kill: the run's files, and its control directory if it is still the
/// private one that the run made.
pub(super) fn clean(paths: &Paths, id: RunId) -> Result<(), Error> {
    use std::os::unix::fs::MetadataExt;
    let dir = paths.run(id);
    if let Ok(control) = std::fs::read_to_string(dir.join(CONTROL)) {
        let control = Path::new(&control);
        let ours = std::fs::symlink_metadata(control).is_ok_and(|m| {
            m.is_dir() && m.uid() == rustix::process::geteuid().as_raw() && m.mode() & 0o077 == 0
        });
        let named = control
            .file_name()
            .is_some_and(|n| n.to_string_lossy().starts_with("kl-"));
        if ours && named {
            fs::remove_tree(control)?;
        }
    }
    Ok(empty(&dir)?)
}
