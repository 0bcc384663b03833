//! Which process a run belongs to, for certain: PIDs are used again, so the
//! moment of its start, the boot and the PID namespace go with it.
//!
//! On disk it is the one line of JSON inside `runs/<id>/alive`, written by the
//! process that holds that file's lock.

use std::io::{Read, Write};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

use super::liveness;
use crate::ansible::processes::Stat;
use crate::domain::run::Run;
use crate::env::Env;
use crate::error::{Error, Kind};
use crate::paths::Paths;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    pid: u32,
    /// Clock ticks since the boot, as proc(5) gives them.
    start: u64,
    /// The kernel's random id of this boot: tells machines apart too.
    boot: String,
    /// As in "pid:[4026531836]".
    namespace: String,
}

impl Owner {
    /// None where /proc does not tell: the run then cannot be cancelled from
    /// elsewhere, and goes on all the same.
    fn this() -> Option<Self> {
        let pid = std::process::id();
        Some(Owner {
            pid,
            start: Stat::of(pid)?.start,
            boot: boot()?,
            namespace: namespace()?,
        })
    }

    /// Into the lock file that this process holds.
    pub(super) fn write(file: &mut std::fs::File) -> std::io::Result<()> {
        file.set_len(0)?;
        match Owner::this() {
            Some(owner) => file.write_all(&serde_json::to_vec(&owner)?),
            None => Ok(()),
        }
    }
}

fn boot() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

fn namespace() -> Option<String> {
    let link = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(link.to_string_lossy().into_owned())
}

/// Sends TERM to the process of a live run, once it is proved to be that
/// run's.
///
/// # Errors
/// [`Kind::WrongState`] when the run's process is gone, is elsewhere or cannot
/// be told for certain; nothing is signalled then.
pub fn ask_to_end(paths: &Paths, env: &Env, run: &Run) -> Result<(), Error> {
    let who = &run.requester;
    let cannot = |why: String| {
        Error::new(
            Kind::WrongState,
            format!("cannot cancel run {}: {why}", run.id),
        )
    };
    let there = format!(
        "cancel it there: `kloigos runs cancel {}` on {}, or interrupt PID {} of {}",
        run.id, who.host, who.pid, who.user
    );
    if who.host != env.host {
        return Err(cannot(format!(
            "its process is on host {}, and this is {}",
            who.host, env.host
        ))
        .hint(there));
    }
    let gone = || cannot("its process is gone".to_owned());
    let unproved = || {
        cannot(format!(
            "process {} cannot be proved to be this run's",
            who.pid
        ))
        .hint(format!(
            "interrupt it where {} has started it on {}",
            who.user, who.host
        ))
    };
    let mut text = String::new();
    std::fs::File::open(paths.liveness_lock(run.id))
        .and_then(|mut f| f.read_to_string(&mut text))
        .map_err(|_| gone())?;
    let owner: Owner = serde_json::from_str(&text).map_err(|_| unproved())?;
    if Some(&owner.boot) != boot().as_ref() || Some(&owner.namespace) != namespace().as_ref() {
        return Err(cannot(format!(
            "its process is on another machine or in another container named {}",
            who.host
        ))
        .hint(there));
    }
    if owner.pid != who.pid {
        return Err(unproved());
    }
    let pid = i32::try_from(owner.pid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(unproved)?;
    // From here on the descriptor means one process and never its successor,
    // so what is proved next stays true when the signal is sent.
    let process = pidfd_open(pid, PidfdFlags::empty()).map_err(|_| gone())?;
    if Stat::of(owner.pid).map(|s| s.start) != Some(owner.start) {
        return Err(unproved());
    }
    if !liveness::is_alive(paths, run.id)? {
        return Err(gone());
    }
    pidfd_send_signal(process, Signal::TERM).map_err(|e| match e {
        rustix::io::Errno::SRCH => gone(),
        e => Error::new(
            Kind::Local,
            format!("cannot signal process {} of {}: {e}", owner.pid, who.user),
        ),
    })
}
