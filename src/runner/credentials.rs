//! What a run logs in with when the hooks of its store make it: a directory of
//! its own, in which the prepare playbook leaves its artifacts.
//!
//! `<dir_root>/<run id>/ssh/` holds `id_key`, `id_key-cert.pub`, `known_hosts`
//! and `ssh_config`, each as far as the playbook makes it. They become options
//! in front of whatever else ssh is given, through programs that stand in for
//! ssh, scp and sftp: options that come first win, wherever the others are from.

mod stand_in;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use self::stand_in::{other, ssh};
use super::files::RunFiles;
use crate::ansible::events::PlayHost;
use crate::domain::run::RunId;
use crate::domain::ssh_key::certificate_end;
use crate::domain::time::Timestamp;
use crate::env::Env;
use crate::error::{Error, Kind};
use crate::fs::{self, FsError, guarded};

/// The part that the playbook is told of.
const INNER: &str = "ssh";
/// A longer file is no key.
const LONGEST_KEY: u64 = 64 * 1024;

#[derive(Debug, Clone)]
pub(super) struct CredentialDir {
    /// `<dir_root>/<run id>`.
    outer: PathBuf,
}

/// What the artifacts come to.
pub(super) struct Access {
    /// Extra variables that put our programs in the place of ssh's.
    pub(super) variables: Map<String, Value>,
    /// When the certificate ends, if there is one and it does.
    pub(super) until: Option<Timestamp>,
    /// Why nobody can be logged in with it.
    pub(super) missing: Option<String>,
}

struct Artifacts {
    key: Option<PathBuf>,
    certificate: Option<PathBuf>,
    known_hosts: Option<PathBuf>,
    config: Option<PathBuf>,
}

impl CredentialDir {
    /// `store` is the store's id: two stores count their runs alike.
    pub(super) fn make(root: &Path, run: RunId, store: &str) -> Result<Self, Error> {
        let own = format!("{run}-{}", store.get(..8).unwrap_or(store));
        let mut names = vec![run.to_string(), own.clone()];
        // Left by runs of a store that was restored from a backup.
        names.extend((2..100).map(|n| format!("{own}-{n}")));
        match guarded::make_new(root, &names, INNER) {
            Ok(outer) => Ok(CredentialDir { outer }),
            Err(guarded::Unsafe::Refused { path, why }) => Err(Error::new(
                Kind::Refused,
                format!(
                    "refused to put SSH credentials into {}: {} {why}",
                    root.display(),
                    path.display()
                ),
            )
            .hint(format!(
                "remove or repair it, or name another directory with `kloigos setting set {} DIR`",
                crate::domain::settings::HOOK_DIR_ROOT
            ))),
            Err(guarded::Unsafe::Fs(e)) => Err(e.into()),
        }
    }

    pub(super) fn outer(&self) -> &Path {
        &self.outer
    }

    pub(super) fn path(&self) -> PathBuf {
        self.outer.join(INNER)
    }

    /// The private key as far as it is there.
    pub(super) fn key_text(&self) -> Option<String> {
        let path = self.path().join("id_key");
        let ours = guarded::is_own_file(&path).unwrap_or(false);
        let bytes = ours.then(|| fs::read_at_most(&path, LONGEST_KEY).ok())??;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    pub(super) fn remove(&self) -> Result<(), Error> {
        Ok(fs::remove_tree(&self.outer)?)
    }

    /// Reads what the prepare playbook has made.
    pub(super) fn access(&self, files: &RunFiles, env: &Env) -> Result<Access, Error> {
        let artifacts = Artifacts {
            key: self.artifact("id_key")?,
            certificate: self.artifact("id_key-cert.pub")?,
            known_hosts: self.artifact("known_hosts")?,
            config: self.artifact("ssh_config")?,
        };
        if let Some(key) = &artifacts.key {
            // ssh does not take a key that others could read.
            fs::set_mode(key, 0o600)?;
        }
        let until = match &artifacts.certificate {
            Some(path) => certificate_end(&fs::read_to_string(path)?).map_err(|e| {
                Error::new(
                    Kind::Local,
                    format!("{} is no SSH certificate: {e}", path.display()),
                )
            })?,
            None => None,
        };
        let named_by_config = match &artifacts.config {
            Some(path) => fs::read_to_string(path)?
                .to_ascii_lowercase()
                .contains("identityfile"),
            None => false,
        };
        let has_key = artifacts.key.is_some() || named_by_config;
        let script = ssh(
            &program(env, "ssh")?,
            &artifacts.options(named_by_config),
            files.control(),
            artifacts.config.as_deref(),
        );
        let stand_in = files.write_program("ssh", &script)?;
        let mut variables = Map::new();
        variables.insert("ansible_ssh_executable".into(), json!(stand_in));
        for name in ["scp", "sftp"] {
            // Without it Ansible copies in another way.
            if let Ok(real) = program(env, name) {
                let path = files.write_program(name, &other(&real, &stand_in))?;
                variables.insert(format!("ansible_{name}_executable"), json!(path));
            }
        }
        Ok(Access {
            variables,
            until,
            missing: (!has_key).then(|| {
                format!(
                    "the prepare playbook left no id_key in {}: ssh has no key to log in with",
                    self.path().display()
                )
            }),
        })
    }

    fn artifact(&self, name: &str) -> Result<Option<PathBuf>, Error> {
        let path = self.path().join(name);
        match guarded::is_own_file(&path) {
            Ok(true) => Ok(Some(path)),
            Ok(false) => Err(Error::new(
                Kind::Refused,
                format!(
                    "refused {}: it is no regular file of this user",
                    path.display()
                ),
            )
            .hint("let the prepare playbook write the file itself, not a link to another")),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(FsError::of("look at", &path)(e).into()),
        }
    }
}

impl Artifacts {
    /// As ssh's configuration spells them.
    fn options(&self, named_by_config: bool) -> Vec<String> {
        let mut options = vec![
            "IdentitiesOnly=yes".to_owned(),
            "PKCS11Provider=none".to_owned(),
        ];
        let file = |name: &str, path: &Path| format!("{name}=\"{}\"", path.display());
        if let Some(key) = &self.key {
            options.push(file("IdentityFile", key));
        } else if !named_by_config {
            // Otherwise ssh looks for keys in ~/.ssh.
            options.push("IdentityFile=none".to_owned());
        }
        if self.key.is_some() || !named_by_config {
            options.push("IdentityAgent=none".to_owned());
            // No ticket of Kerberos, no password either.
            options.push("PreferredAuthentications=publickey".to_owned());
        }
        if let Some(certificate) = &self.certificate {
            options.push(file("CertificateFile", certificate));
        }
        if let Some(known_hosts) = &self.known_hosts {
            options.push(file("UserKnownHostsFile", known_hosts));
            options.push("StrictHostKeyChecking=yes".to_owned());
        }
        options
    }
}

fn program(env: &Env, name: &str) -> Result<PathBuf, Error> {
    env.find_program(name).ok_or_else(|| {
        Error::new(Kind::Ansible, format!("`{name}` is not on PATH"))
            .hint("install it: `apt install openssh-client`")
    })
}

/// Refuses hosts that Ansible reaches by ssh, but not by the program: with the
/// agent's keys, and those in ~/.ssh.
pub(super) fn check_logins(hosts: &[PlayHost]) -> Result<(), Error> {
    match hosts.iter().find(|h| logs_in_otherwise(h)) {
        None => Ok(()),
        Some(host) => Err(Error::new(
            Kind::Refused,
            format!(
                "refused to log in to {} by {}: only the ssh program uses the credentials of this run",
                host.name, host.connection
            ),
        )
        .hint("let its ansible_connection be ssh")),
    }
}

fn logs_in_otherwise(host: &PlayHost) -> bool {
    let plugin = host.connection.rsplit('.').next().unwrap_or_default();
    [
        "paramiko",
        "paramiko_ssh",
        "libssh",
        "network_cli",
        "netconf",
    ]
    .contains(&plugin)
}
