//! `kloigos init`: makes or upgrades the store, loads the packaged playbooks,
//! prepares Ansible. Safe to repeat, and to start twice at once.

use serde::Serialize;

use super::packaged;
use crate::clock::Clock;
use crate::domain::name::PlaybookName;
use crate::domain::playbook::Content;
use crate::domain::report::{Report, Reporter};
use crate::domain::settings::ANSIBLE_PLAYBOOK;
use crate::env::Env;
use crate::error::{Error, Kind};
use crate::fs;
use crate::paths::Paths;
use crate::runner;
use crate::store::playbooks::{Authorship, Packed};
use crate::store::{self, SCHEMA_VERSION, Store};

#[derive(Debug, Clone, Serialize)]
pub struct InitReport {
    pub store_path: String,
    pub created: bool,
    pub migrated_from: Option<u32>,
    pub schema_version: u32,
    pub playbooks: Vec<LoadedPlaybook>,
    pub ansible_version: String,
    pub ansible_path: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct LoadedPlaybook {
    pub name: PlaybookName,
    pub version: u32,
    pub digest: String,
    pub outcome: LoadOutcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadOutcome {
    /// It was there already.
    Unchanged,
    /// Added, and the default.
    Added,
    /// Added; the operator's own default stays.
    AddedNotDefault,
}

pub fn initialise(
    paths: &Paths,
    clock: &Clock,
    env: &Env,
    reporter: &mut dyn Reporter,
) -> Result<InitReport, Error> {
    for dir in [
        paths.root().to_owned(),
        paths.locks(),
        paths.runs(),
        paths.ansible(),
    ] {
        fs::create_private_dir(&dir).map_err(Error::store)?;
    }
    keep_private(paths, reporter)?;
    let (store, migrated) = migrate(paths, clock, env, reporter)?;
    if let Some(note) = &migrated.journal_note {
        reporter.report(&Report::Warning(note.clone()));
    }
    let playbooks = load_packaged(&store, env, packaged::all(), reporter)?;
    let setting = store.read(|tx| tx.settings().value(&ANSIBLE_PLAYBOOK))?;
    let ansible = runner::prepare_ansible(paths, env, &setting, reporter)?;
    Ok(InitReport {
        store_path: paths.database().display().to_string(),
        created: migrated.created,
        migrated_from: migrated.from,
        schema_version: SCHEMA_VERSION,
        playbooks,
        ansible_version: ansible.version().to_owned(),
        ansible_path: ansible.path().display().to_string(),
    })
}

/// A directory that was there before may be open to others. It is closed when
/// it is the store's own; in one that holds other things too only its owner
/// can decide.
fn keep_private(paths: &Paths, reporter: &mut dyn Reporter) -> Result<(), Error> {
    let root = paths.root();
    let mode = fs::mode(root).map_err(Error::store)?;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let ours = ["kloigos.db", "locks", "runs", "ansible", "sources"];
    if fs::holds_only(root, &ours).map_err(Error::store)? {
        fs::set_mode(root, 0o700).map_err(Error::store)?;
        reporter.report(&Report::Note(format!(
            "made {} private: it was open to other users",
            root.display()
        )));
    } else if mode & 0o022 == 0 {
        reporter.report(&Report::Warning(format!(
            "other users can look into {}; `chmod 700` closes it",
            root.display()
        )));
    }
    Ok(())
}

/// One process migrates at a time; the lock ends with this call.
fn migrate(
    paths: &Paths,
    clock: &Clock,
    env: &Env,
    reporter: &mut dyn Reporter,
) -> Result<(Store, store::Migrated), Error> {
    let path = paths.migration_lock();
    let lock = fs::open_lock_file(&path).map_err(Error::store)?;
    if lock.try_lock().is_err() {
        reporter.report(&Report::Step("waiting for another `kloigos init`".into()));
        lock.lock()
            .map_err(fs::FsError::of("lock", &path))
            .map_err(Error::store)?;
    }
    Ok(store::migrate(paths, *clock, env)?)
}

fn load_packaged(
    store: &Store,
    env: &Env,
    packaged: Vec<(&str, Content)>,
    reporter: &mut dyn Reporter,
) -> Result<Vec<LoadedPlaybook>, Error> {
    let mut loaded = Vec::new();
    for (name, content) in packaged {
        let name = PlaybookName::parse(name)?;
        let packed = Packed::of(&content)
            .map_err(|e| Error::new(Kind::Local, format!("cannot pack playbook {name}: {e}")))?;
        let one = store.write(|tx| {
            let versions = tx.playbooks().versions(&name)?;
            if let Some(same) = versions.iter().find(|v| v.digest == packed.digest()) {
                return Ok::<_, Error>(LoadedPlaybook {
                    name: name.clone(),
                    version: same.version,
                    digest: same.digest.clone(),
                    outcome: LoadOutcome::Unchanged,
                });
            }
            let version = tx.playbooks().insert_version(
                &name,
                &content,
                &packed,
                &Authorship {
                    author: &env.user,
                    message: Some(concat!("packaged with kloigos ", env!("CARGO_PKG_VERSION"))),
                    packaged: true,
                },
            )?;
            let operators_own = versions.iter().any(|v| v.is_default && !v.packaged);
            if !operators_own && !versions.is_empty() {
                tx.playbooks().set_default(&name, version)?;
            }
            Ok(LoadedPlaybook {
                name: name.clone(),
                version,
                digest: packed.digest().to_owned(),
                outcome: if operators_own {
                    LoadOutcome::AddedNotDefault
                } else {
                    LoadOutcome::Added
                },
            })
        })?;
        if one.outcome == LoadOutcome::AddedNotDefault {
            reporter.report(&Report::Note(format!(
                "playbook {} has a new packaged version {}; your own default stays",
                one.name, one.version
            )));
        }
        loaded.push(one);
    }
    Ok(loaded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Timestamp;
    use crate::ops::content;
    use crate::store::open_memory;

    struct Notes(Vec<String>);

    impl Reporter for Notes {
        fn report(&mut self, report: &Report) {
            if let Report::Note(text) = report {
                self.0.push(text.clone());
            }
        }
    }

    /// `init` of a build that packages this text as SERVER_INIT.
    fn init(store: &Store, text: &str) -> (LoadedPlaybook, Vec<String>) {
        let env = Env::fixed(&[], "tester");
        let content = content::single(text.as_bytes().to_vec()).unwrap();
        let mut notes = Notes(Vec::new());
        let loaded = load_packaged(store, &env, vec![("SERVER_INIT", content)], &mut notes);
        (loaded.unwrap().remove(0), notes.0)
    }

    fn default_version(store: &Store) -> u32 {
        let name = PlaybookName::parse("SERVER_INIT").unwrap();
        let default = store.read(|tx| Ok::<_, Error>(tx.playbooks().get(&name, None)?));
        default.unwrap().unwrap().version
    }

    #[test]
    fn a_newer_build_never_takes_an_operators_default_away() {
        let store = open_memory(Clock::Fixed(Timestamp(1))).unwrap();
        let name = PlaybookName::parse("SERVER_INIT").unwrap();
        assert_eq!(init(&store, "old").0.outcome, LoadOutcome::Added);
        assert_eq!(init(&store, "old").0.outcome, LoadOutcome::Unchanged);
        // Still packaged: the newer one takes over, and can be rolled back.
        assert_eq!(init(&store, "newer").0.outcome, LoadOutcome::Added);
        assert_eq!(default_version(&store), 2);
        let previous = store.read(|tx| Ok::<_, Error>(tx.playbooks().previous_default(&name)?));
        assert_eq!(previous.unwrap(), Some(1));

        let own = content::single(b"own".to_vec()).unwrap();
        let own_version = store
            .write(|tx| {
                let by = Authorship {
                    author: "tester",
                    message: None,
                    packaged: false,
                };
                let packed = Packed::of(&own).unwrap();
                let version = tx.playbooks().insert_version(&name, &own, &packed, &by)?;
                tx.playbooks().set_default(&name, version)?;
                Ok::<_, Error>(version)
            })
            .unwrap();
        let (loaded, notes) = init(&store, "newest");
        assert_eq!(loaded.outcome, LoadOutcome::AddedNotDefault);
        assert_eq!(loaded.version, 4);
        assert_eq!(default_version(&store), own_version);
        assert!(notes[0].contains("your own default stays"), "{notes:?}");
    }
}
