//! Ending everything that Ansible has started.
//!
//! Ansible's workers and ssh's connection masters live in sessions and process
//! groups of their own, so no group is enough. This process is a child
//! subreaper: whatever loses its parent becomes our child, and a walk over
//! /proc finds it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

/// One lock file for each host, here and in Ansible: the usual soft limit of
/// 1024 would end at some hundred hosts. The hard limit stays.
pub fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    const WANTED: u64 = 65_536;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(WANTED, |m| m.min(WANTED));
    if current.is_some_and(|c| c < wanted) {
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(wanted),
                maximum,
            },
        );
    }
}

/// Makes orphaned descendants ours.
pub fn become_subreaper() {
    // Without it (it cannot fail on Linux 3.4 and newer) orphans go to init.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// What proc(5) tells of a process.
pub struct Stat {
    /// Dead, and not yet reaped.
    ended: bool,
    parent: u32,
    /// Clock ticks since the boot.
    pub start: u64,
}

impl Stat {
    pub fn of(pid: u32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in parentheses may hold anything; what follows it may not.
        let (_, rest) = stat.rsplit_once(") ")?;
        let mut fields = rest.split(' ');
        Some(Stat {
            ended: fields.next()? == "Z",
            parent: fields.next()?.parse().ok()?,
            start: fields.nth(17)?.parse().ok()?,
        })
    }
}

/// PIDs below `root`, parents first.
pub fn descendants(root: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|n| n.parse::<u32>().ok())
        else {
            continue;
        };
        if let Some(stat) = Stat::of(pid).filter(|s| !s.ended) {
            children.entry(stat.parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut todo = vec![root];
    while let Some(pid) = todo.pop() {
        for child in children.get(&pid).into_iter().flatten() {
            found.push(*child);
            todo.push(*child);
        }
    }
    found
}

fn send(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It may be gone already, which is what is wanted.
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Asks every descendant of this process to end.
pub fn terminate_all() {
    for pid in descendants(std::process::id()) {
        send(pid, Signal::TERM);
    }
}

/// Ends every descendant of this process for certain: stops all, so that none
/// can start another unseen, walks again, kills, reaps. Within `limit`.
pub fn kill_all(limit: Duration) {
    let me = std::process::id();
    let started = Instant::now();
    loop {
        let mut stopped = descendants(me);
        for pid in &stopped {
            send(*pid, Signal::STOP);
        }
        let again = descendants(me);
        let settled = again.iter().all(|p| stopped.contains(p));
        stopped.extend(again);
        if settled || started.elapsed() > limit {
            for pid in &stopped {
                send(*pid, Signal::KILL);
            }
        }
        if descendants(me).is_empty() || started.elapsed() > limit {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Ends the connection masters of one control directory, which would hold a
/// connection for another minute.
pub fn end_masters(control_dir: &std::path::Path) {
    let marker = control_dir.to_string_lossy().into_owned();
    for pid in descendants(std::process::id()) {
        let Ok(cmdline) = std::fs::read(format!("/proc/{pid}/cmdline")) else {
            continue;
        };
        let text = String::from_utf8_lossy(&cmdline);
        if text.contains(&marker) && text.starts_with("ssh") {
            send(pid, Signal::TERM);
        }
    }
}
