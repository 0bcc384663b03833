//! Starting ansible-playbook, and talking with the callback in it.

use std::ffi::OsString;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use super::config::{self, Config};
use super::{AnsibleError, Install};
use crate::env::Env;
use crate::fs;

/// Everything of one start.
#[derive(Debug)]
pub struct Launch<'a> {
    pub install: &'a Install,
    /// Working directory: the playbook's own.
    pub workdir: &'a Path,
    pub playbook: &'a Path,
    pub inventory: Option<&'a Path>,
    pub variable_files: &'a [PathBuf],
    /// Further arguments, as in `--check`.
    pub arguments: &'a [OsString],
    /// Holds the callback plugin.
    pub callback_dir: &'a Path,
    /// For ssh's control sockets; 79 bytes at most.
    pub control_dir: &'a Path,
    pub known_hosts: &'a Path,
    /// Scratch of Ansible on this machine.
    pub local_tmp: &'a Path,
    pub purpose: Purpose,
    /// Other connections than ssh are refused.
    pub ssh_only: bool,
}

/// What an ansible-playbook is started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Run,
    /// To tell plays and hosts, and to end before the first task.
    Explain,
}

/// A started ansible-playbook.
pub struct Running {
    pub child: Child,
    pub stdout: ChildStdout,
    pub stderr: ChildStderr,
    /// Its end closing is what tells Ansible that kloigos is gone.
    pub channel: UnixStream,
}

/// The value of ssh's UserKnownHostsFile: ours beside the user's own. Each
/// name is quoted by itself; quotes around all would make one name of them.
pub fn known_hosts_option(known_hosts: &Path) -> String {
    format!(
        "UserKnownHostsFile=\"{}\" ~/.ssh/known_hosts ~/.ssh/known_hosts2",
        known_hosts.display()
    )
}

/// ssh options that every connection gets, as Ansible splits them (like a
/// shell).
pub fn ssh_args(known_hosts: &Path) -> String {
    format!(
        "-o '{}' -o StrictHostKeyChecking=yes -o ServerAliveInterval=15 -o ServerAliveCountMax=4",
        known_hosts_option(known_hosts)
    )
}

/// What Kloigos sets where nothing else does: variables, value, and the places
/// in an ansible.cfg that say the same.
const DEFAULTS: &[(&[&str], &str, &[&str])] = &[
    (
        &["ANSIBLE_PIPELINING", "ANSIBLE_SSH_PIPELINING"],
        "1",
        &[
            "defaults.pipelining",
            "connection.pipelining",
            "ssh_connection.pipelining",
        ],
    ),
    (
        &["ANSIBLE_HOST_KEY_CHECKING", "ANSIBLE_SSH_HOST_KEY_CHECKING"],
        "1",
        &[
            "defaults.host_key_checking",
            "ssh_connection.host_key_checking",
        ],
    ),
    (
        &["ANSIBLE_RETRY_FILES_ENABLED"],
        "0",
        &["defaults.retry_files_enabled"],
    ),
    (&["ANSIBLE_NOCOWS"], "1", &["defaults.nocows"]),
    (&["ANSIBLE_FORKS"], "20", &["defaults.forks"]),
    (
        &["ANSIBLE_TIMEOUT", "ANSIBLE_SSH_TIMEOUT"],
        "20",
        &["defaults.timeout", "ssh_connection.timeout"],
    ),
    (
        &["ANSIBLE_PYTHON_INTERPRETER"],
        "auto_silent",
        &["defaults.interpreter_python"],
    ),
    (
        &["ANSIBLE_SSH_ARGS"],
        "-C -o ControlMaster=auto -o ControlPersist=60s",
        &["ssh_connection.ssh_args"],
    ),
    (
        &["ANSIBLE_DEPRECATION_WARNINGS"],
        "0",
        &["defaults.deprecation_warnings"],
    ),
    (
        &["ANSIBLE_LOCALHOST_WARNING"],
        "0",
        &["defaults.localhost_warning"],
    ),
    (
        &["ANSIBLE_INVENTORY_UNPARSED_WARNING"],
        "0",
        &["inventory.inventory_unparsed_warning"],
    ),
];

/// Ours first, then those that Ansible would look at without us: a variable
/// replaces the file's list and the usual places alike.
fn callback_path(env: &Env, config: &Config, launch: &Launch<'_>) -> OsString {
    let mut path = launch.callback_dir.as_os_str().to_owned();
    let mut add = |more: &std::ffi::OsStr| {
        path.push(":");
        path.push(more);
    };
    if let Some(theirs) = env.get("ANSIBLE_CALLBACK_PLUGINS") {
        add(theirs);
    } else if let Some(theirs) = config.paths("defaults.callback_plugins") {
        for one in theirs {
            add(one.as_ref());
        }
    } else {
        let home = env.get("ANSIBLE_HOME").unwrap_or("~/.ansible".as_ref());
        let mut usual = home.to_owned();
        usual.push("/plugins/callback:/usr/share/ansible/plugins/callback");
        add(&usual);
    }
    path
}

/// The environment of Ansible: the caller's, and what Kloigos sets where
/// nothing else does.
pub fn environment(env: &Env, launch: &Launch<'_>) -> Vec<(OsString, OsString)> {
    let config = Config::in_force(launch.workdir, env);
    let mut all: Vec<(OsString, OsString)> = env
        .all()
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .collect();
    for (keys, value, places) in DEFAULTS {
        if !keys.iter().any(|k| env.is_set(k)) && !config.has(places) {
            all.push((keys[0].into(), value.into()));
        }
    }
    if let Some(file) = config::named(env) {
        all.retain(|(k, _)| k != "ANSIBLE_CONFIG");
        all.push(("ANSIBLE_CONFIG".into(), file.into()));
    }
    let callbacks = callback_path(env, &config, launch);
    let ours: [(&str, OsString); 8] = [
        ("ANSIBLE_CALLBACK_PLUGINS", callbacks),
        ("ANSIBLE_SSH_CONTROL_PATH_DIR", launch.control_dir.into()),
        ("ANSIBLE_LOCAL_TEMP", launch.local_tmp.into()),
        ("LC_ALL", "C.UTF-8".into()),
        ("LANG", "C.UTF-8".into()),
        ("PYTHONUNBUFFERED", "1".into()),
        ("PYTHONDONTWRITEBYTECODE", "1".into()),
        ("ANSIBLE_NOCOLOR", "1".into()),
    ];
    for (key, value) in ours {
        all.retain(|(k, _)| k != key);
        all.push((key.into(), value));
    }
    if !env.is_set("ANSIBLE_SSH_COMMON_ARGS") && !config.has(&["ssh_connection.ssh_common_args"]) {
        all.push((
            "ANSIBLE_SSH_COMMON_ARGS".into(),
            ssh_args(launch.known_hosts).into(),
        ));
    }
    all
}

/// The arguments of ansible-playbook.
pub fn arguments(launch: &Launch<'_>) -> Vec<OsString> {
    let mut args: Vec<OsString> = Vec::new();
    if let Some(inventory) = launch.inventory {
        args.push("--inventory".into());
        args.push(inventory.into());
    }
    for file in launch.variable_files {
        let mut value = OsString::from("@");
        value.push(file);
        args.push("--extra-vars".into());
        args.push(value);
    }
    args.extend(launch.arguments.iter().cloned());
    args.push(launch.playbook.into());
    args
}

/// Starts it, in a session of its own: with a controlling terminal, ssh would
/// ask there in spite of the closed standard input.
pub fn start(launch: &Launch<'_>, env: &Env) -> Result<Running, AnsibleError> {
    let path = launch.install.path();
    let failed = |source: std::io::Error| AnsibleError::Spawn {
        path: path.to_owned(),
        source,
    };
    fs::create_private_dir(launch.callback_dir)?;
    fs::write_private(
        &launch.callback_dir.join("kloigos.py"),
        super::CALLBACK.as_bytes(),
    )?;
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(failed)?;
    rustix::io::fcntl_setfd(&theirs, rustix::io::FdFlags::empty()).map_err(|e| failed(e.into()))?;
    let mut command = Command::new("setsid");
    command
        .arg(path)
        .args(arguments(launch))
        .current_dir(launch.workdir)
        .env_clear()
        .envs(environment(env, launch))
        .env("KLOIGOS_EVENTS_FD", theirs.as_raw_fd().to_string())
        .env("KLOIGOS_SSH_ONLY", if launch.ssh_only { "1" } else { "0" })
        .env(
            "KLOIGOS_EXPLAIN",
            match launch.purpose {
                Purpose::Run => "0",
                Purpose::Explain => "1",
            },
        )
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    drop(theirs);
    let channel = ours
        .set_nonblocking(true)
        .and_then(|()| UnixStream::from_std(ours))
        .map_err(failed)?;
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(failed(std::io::Error::other("its output is not connected")));
    };
    Ok(Running {
        child,
        stdout,
        stderr,
        channel,
    })
}

/// How many descriptors go with one message (the kernel takes 253).
const BATCH: usize = 64;

/// Lets Ansible go on, and hands it the lock files that it must keep.
pub fn answer_go(channel: &UnixStream, locks: &[BorrowedFd<'_>]) -> std::io::Result<()> {
    let mut batches: Vec<&[BorrowedFd<'_>]> = locks.chunks(BATCH).collect();
    let last = batches.pop().unwrap_or(&[]);
    for batch in batches {
        // A blank line is no answer, it only carries descriptors.
        send(channel, b" ", batch)?;
    }
    send(channel, b"{\"go\": true}\n", last)
}

fn send(channel: &UnixStream, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> std::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(BATCH))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(std::io::Error::other("too many lock files for one message"));
    }
    rustix::net::sendmsg(
        channel,
        &[IoSlice::new(bytes)],
        &mut control,
        SendFlags::NOSIGNAL,
    )?;
    Ok(())
}

/// Tells Ansible to end before it touches the hosts that it asked for.
pub fn answer_stop(channel: &UnixStream) -> std::io::Result<()> {
    send(channel, b"{\"go\": false}\n", &[])
}
