//! What every run of this process works with.

use std::time::Duration;

use crate::ansible::{AnsibleError, Install, install};
use crate::clock::Clock;
use crate::domain::report::{Report, Reporter};
use crate::domain::settings::{
    ANSIBLE_PLAYBOOK, RUNS_HOST_WAIT, RUNS_MAX_CONCURRENT, RUNS_OUTPUT_MAX, SSH_PRIVATE_KEY,
};
use crate::env::Env;
use crate::error::{Error, Kind};
use crate::paths::Paths;
use crate::store::Store;

pub struct Engine<'a> {
    pub(super) store: &'a Store,
    pub(super) paths: &'a Paths,
    pub(super) clock: &'a Clock,
    pub(super) env: &'a Env,
    pub(super) ansible: Install,
    pub(super) host_wait: Duration,
    pub(super) slots: u32,
    pub(super) output_max: u64,
    /// Empty: what ssh itself finds.
    pub(super) key_file: String,
}

impl<'a> Engine<'a> {
    /// Finds Ansible and ssh; nothing is started.
    pub fn new(
        store: &'a Store,
        paths: &'a Paths,
        clock: &'a Clock,
        env: &'a Env,
        ansible: &str,
    ) -> Result<Self, Error> {
        let ansible = install::locate(ansible, &paths.ansible(), env)?;
        for program in ["ssh", "setsid"] {
            if env.find_program(program).is_none() {
                return Err(
                    Error::new(Kind::Ansible, format!("`{program}` is not on PATH")).hint(
                        match program {
                            "ssh" => "install it: `apt install openssh-client`",
                            _ => "install it: `apt install util-linux`",
                        },
                    ),
                );
            }
        }
        let (host_wait, slots, output_max, key_file) = store.read(|tx| {
            let settings = tx.settings();
            Ok::<_, Error>((
                settings.number(&RUNS_HOST_WAIT)?,
                settings.number(&RUNS_MAX_CONCURRENT)?,
                settings.number(&RUNS_OUTPUT_MAX)?,
                settings.value(&SSH_PRIVATE_KEY)?,
            ))
        })?;
        Ok(Engine {
            store,
            paths,
            clock,
            env,
            ansible,
            host_wait: Duration::from_secs(u64::from(host_wait)),
            slots,
            output_max: u64::from(output_max),
            key_file,
        })
    }
}

/// Whether the executable that the setting names would do.
pub fn check_ansible(paths: &Paths, env: &Env, setting: &str) -> Result<(), Error> {
    install::locate(setting, &paths.ansible(), env)?;
    Ok(())
}

/// A suitable Ansible, made if there is none.
pub fn prepare_ansible(
    paths: &Paths,
    env: &Env,
    setting: &str,
    reporter: &mut dyn Reporter,
) -> Result<Install, Error> {
    let dir = paths.ansible();
    match install::locate(setting, &dir, env) {
        Ok(found) => return Ok(found),
        // What a person has chosen only a person takes back.
        Err(e) if !setting.is_empty() => {
            return Err(Error::from(e).hint(format!(
                "`kloigos setting reset {ANSIBLE_PLAYBOOK}` lets kloigos choose"
            )));
        }
        Err(AnsibleError::Missing) => {}
        Err(e) => reporter.report(&Report::Note(format!("{e}; a private one is used instead"))),
    }
    install::make_private(&dir, env, &mut |text| {
        reporter.report(&Report::Step(text));
    })?;
    Ok(install::locate(setting, &dir, env)?)
}
