//! What a run has come to so far, and from that how it ended. Events decide,
//! not Ansible's exit code: that is 4 for "failed and unreachable" and for a
//! parse error alike, and 0 for a run that did nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::request::{RunRequest, Targets};
use super::unreachable;
use crate::ansible::syntax;
use crate::domain::run::RunEnding;
use crate::domain::run_event::{HostCounts, InFlight, ResultStatus, RunEvent, RunHost, TaskNo};
use crate::domain::time::Timestamp;

#[derive(Default)]
pub(super) struct Progress {
    started: bool,
    plays: u32,
    hosts: BTreeMap<String, RunHost>,
    tasks: BTreeMap<TaskNo, String>,
    in_flight: BTreeMap<String, TaskNo>,
    counted: BTreeMap<String, HostCounts>,
    stats: Option<Vec<HostCounts>>,
    answered: BTreeSet<String>,
    results: u64,
    /// The last of each host, in the order of hosts' first: host, task, message.
    failures: Vec<(String, String, String)>,
    /// The first.
    unreachable: Option<Gone>,
    /// Set where the run logs in with credentials of its own.
    credentials: Option<Credentials>,
}

/// A host that could not be reached.
struct Gone {
    host: String,
    /// The host whose task was delegated to it.
    delegate_of: Option<String>,
    said: String,
    at: Timestamp,
}

/// What a run's own credentials are worth.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Credentials {
    /// When the certificate ends.
    pub(super) until: Option<Timestamp>,
}

/// Ansible's end as the operating system tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Exit {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
}

impl Exit {
    pub(super) fn of(status: Option<std::process::ExitStatus>) -> Self {
        use std::os::unix::process::ExitStatusExt;
        Exit {
            code: status.and_then(|s| s.code()),
            signal: status.and_then(|s| s.signal()),
        }
    }
}

impl Progress {
    pub(super) fn logs_in_with(&mut self, credentials: Credentials) {
        self.credentials = Some(credentials);
    }

    /// What the first unreachable host said means, and what to do about it.
    fn why_unreachable(
        &self,
        gone: &Gone,
        known_hosts: &Path,
        address: &str,
        server: Option<&str>,
    ) -> (String, Option<String>) {
        self.credentials
            .and_then(|c| unreachable::with_credentials(&gone.said, c.until, gone.at))
            .unwrap_or_else(|| unreachable::explain(&gone.said, known_hosts, address, server))
    }

    pub(super) fn observe(&mut self, at: Timestamp, event: &RunEvent) {
        match event {
            RunEvent::Started { .. } => self.started = true,
            RunEvent::Claimed { hosts } => {
                self.hosts
                    .extend(hosts.iter().map(|h| (h.name.clone(), h.clone())));
            }
            RunEvent::PlayStarted { .. } => self.plays += 1,
            RunEvent::TaskStarted { task, name, .. } => {
                self.tasks.insert(*task, name.clone());
            }
            RunEvent::HostStarted { task, host } => {
                self.in_flight.insert(host.clone(), *task);
            }
            RunEvent::HostResult {
                task,
                host,
                status,
                changed,
                delegate,
                message,
                ..
            } => {
                if *status == ResultStatus::Unreachable {
                    self.unreachable.get_or_insert_with(|| Gone {
                        host: delegate.as_ref().unwrap_or(host).clone(),
                        delegate_of: delegate.as_ref().map(|_| host.clone()),
                        said: message.clone().unwrap_or_default(),
                        at,
                    });
                }
                self.result(*task, host, *status, *changed, message.as_deref());
            }
            RunEvent::Stats { hosts } => self.stats = Some(hosts.clone()),
            _ => {}
        }
    }

    fn result(
        &mut self,
        task: TaskNo,
        host: &str,
        status: ResultStatus,
        changed: bool,
        message: Option<&str>,
    ) {
        self.results += 1;
        self.in_flight.remove(host);
        self.answered.insert(host.to_owned());
        let counts = self
            .counted
            .entry(host.to_owned())
            .or_insert_with(|| HostCounts::named(host));
        // Ansible does not count a failed change.
        counts.changed += u32::from(changed && status == ResultStatus::Changed);
        match status {
            ResultStatus::Ok | ResultStatus::Changed => counts.ok += 1,
            ResultStatus::Skipped => counts.skipped += 1,
            ResultStatus::Ignored => {
                counts.ok += 1;
                counts.ignored += 1;
            }
            ResultStatus::Failed => {
                counts.failed += 1;
                let said = first_lines(message.unwrap_or("no message"));
                let name = self.tasks.get(&task).cloned().unwrap_or_default();
                let failure = (host.to_owned(), name, said);
                match self.failures.iter_mut().find(|f| f.0 == host) {
                    Some(earlier) => *earlier = failure,
                    None => self.failures.push(failure),
                }
            }
            ResultStatus::Rescued => counts.rescued += 1,
            ResultStatus::Unreachable => counts.unreachable += 1,
        }
    }

    /// Final counts, or what there is of them. A host that was unreachable
    /// stays so, also where the playbook ignored it.
    pub(super) fn counts(&self) -> Vec<HostCounts> {
        let mut all: BTreeMap<String, HostCounts> = match &self.stats {
            Some(stats) => stats.iter().map(|h| (h.host.clone(), h.clone())).collect(),
            None => self.counted.clone(),
        };
        for (host, counted) in &self.counted {
            let counts = all
                .entry(host.clone())
                .or_insert_with(|| HostCounts::named(host.as_str()));
            counts.unreachable = counts.unreachable.max(counted.unreachable);
        }
        for host in self.hosts.keys() {
            all.entry(host.clone())
                .or_insert_with(|| HostCounts::named(host.as_str()));
        }
        all.into_values().collect()
    }

    /// Whether tasks were begun and Ansible did not come to its end.
    pub(super) fn broke_off(&self) -> bool {
        self.stats.is_none() && !self.tasks.is_empty()
    }

    pub(super) fn in_flight(&self) -> Vec<InFlight> {
        self.in_flight
            .iter()
            .map(|(host, task)| InFlight {
                host: host.clone(),
                task: self.tasks.get(task).cloned().unwrap_or_default(),
            })
            .collect()
    }

    /// How the run ended, and in one line why it did not succeed. `said` is
    /// the tail of Ansible's error stream.
    pub(super) fn ending(
        &self,
        request: &RunRequest,
        exit: Exit,
        said: &str,
        workdir: &Path,
        known_hosts: &Path,
    ) -> (RunEnding, Option<String>) {
        if let Some(signal) = exit.signal {
            return (
                RunEnding::AnsibleError,
                Some(format!("ansible-playbook was ended by signal {signal}")),
            );
        }
        let counts = self.counts();
        if counts.iter().any(|h| h.failed > 0) {
            let failed: Vec<&str> = counts
                .iter()
                .filter(|h| h.failed > 0)
                .map(|h| h.host.as_str())
                .collect();
            let first = self
                .failures
                .iter()
                .find(|f| failed.contains(&f.0.as_str()));
            let reason = match first {
                Some((host, task, said)) => format!(
                    "{host}: task `{task}` failed: {said}{}",
                    and_others(&failed, host)
                ),
                None => "a task failed".to_owned(),
            };
            return (RunEnding::TaskFailed, Some(reason));
        }
        if counts.iter().any(|h| h.unreachable > 0) {
            let reason = match &self.unreachable {
                Some(first) => {
                    let host = &first.host;
                    let (why, _) = self.why_unreachable(first, known_hosts, host, None);
                    let all: Vec<&str> = counts
                        .iter()
                        .filter(|h| h.unreachable > 0)
                        .map(|h| h.host.as_str())
                        .collect();
                    // Ansible counts a delegate's failure for the task's own host.
                    match &first.delegate_of {
                        Some(of) => format!(
                            "{host}, the delegate of {of}, is unreachable: {why}{}",
                            and_others(&all, of)
                        ),
                        None => format!("{host} is unreachable: {why}{}", and_others(&all, host)),
                    }
                }
                None => "a host was unreachable".to_owned(),
            };
            return (RunEnding::Unreachable, Some(reason));
        }
        if self.results == 0 {
            return self.nothing_done(request, exit, said, workdir);
        }
        if exit.code != Some(0) {
            let code = exit
                .code
                .map_or("no code".to_owned(), |c| format!("code {c}"));
            let text = syntax::error_text(said, workdir);
            return (
                RunEnding::AnsibleError,
                Some(format!("ansible-playbook ended with {code}: {text}")),
            );
        }
        if self.stats.is_none() {
            return (
                RunEnding::AnsibleError,
                Some(
                    "ansible-playbook ended without its last event, so what it did is not certain"
                        .to_owned(),
                ),
            );
        }
        if let Some(missed) = self.missed_target(request) {
            return (
                RunEnding::TargetMissed,
                Some(format!(
                    "no task of the playbook ran on {missed}, the host that this run is for"
                )),
            );
        }
        let changed = counts.iter().any(|h| h.changed > 0);
        if request.options.check && request.options.detailed_exitcode && changed {
            return (RunEnding::WouldChange, None);
        }
        (RunEnding::Success, None)
    }

    /// What to do about it, where that is known.
    pub(super) fn hint(
        &self,
        request: &RunRequest,
        ending: RunEnding,
        known_hosts: &Path,
    ) -> Option<String> {
        match (&self.unreachable, ending, &request.targets) {
            (Some(gone), RunEnding::Unreachable, targets) => {
                let host = &gone.host;
                let address = self.hosts.get(host).map_or_else(
                    || host.clone(),
                    |h| match h.port {
                        None | Some(22) => h.address.clone(),
                        Some(port) => format!("[{}]:{port}", h.address),
                    },
                );
                let server = targets
                    .servers()
                    .iter()
                    .find(|s| s.hostname.as_str() == host)
                    .map(|s| s.hostname.as_str());
                self.why_unreachable(gone, known_hosts, &address, server).1
            }
            (_, RunEnding::NoHosts, Targets::None) => {
                Some("name hosts with --host, or an inventory with -i".to_owned())
            }
            _ => None,
        }
    }

    fn nothing_done(
        &self,
        request: &RunRequest,
        exit: Exit,
        said: &str,
        workdir: &Path,
    ) -> (RunEnding, Option<String>) {
        if exit.code == Some(0) && !self.started {
            return (
                RunEnding::AnsibleError,
                Some("ansible-playbook gave no events: its event plugin was not loaded".to_owned()),
            );
        }
        let no_hosts = said.contains("leaves us with no hosts to target");
        if exit.code != Some(0) && !no_hosts {
            return (
                RunEnding::AnsibleError,
                Some(syntax::error_text(said, workdir)),
            );
        }
        let options = &request.options;
        let limited = options.limit.is_some();
        let tagged = options.tags.is_some() || options.skip_tags.is_some();
        let reason = if no_hosts || self.plays == 0 || self.hosts.is_empty() {
            match &request.targets {
                Targets::None => "no play matched a host, and the run was given none",
                _ if limited => "no play matched a host within the limit",
                _ => "no play matched a host",
            }
        } else if options.start_at_task.is_some() {
            "the hosts matched, but no task has the name to start at"
        } else if tagged {
            "the hosts matched, but no task has these tags"
        } else {
            "the hosts matched, but no task ran on any of them"
        };
        (RunEnding::NoHosts, Some(reason.to_owned()))
    }

    /// A target of a lifecycle run that gave no result.
    fn missed_target(&self, request: &RunRequest) -> Option<String> {
        let Targets::Servers(targets) = &request.targets else {
            return None;
        };
        targets
            .iter()
            .find(|target| {
                let address = target.address.to_string();
                !self.answered.iter().any(|name| {
                    name == target.hostname.as_str()
                        || self.hosts.get(name).is_some_and(|h| {
                            h.address == address && h.port.is_none_or(|p| p == target.port)
                        })
                })
            })
            .map(|t| t.hostname.to_string())
    }
}

/// `; also on b`, `; also on b and 3 more`, or nothing where there are no others.
fn and_others(all: &[&str], first: &str) -> String {
    let others: Vec<&str> = all.iter().copied().filter(|h| *h != first).collect();
    match others.as_slice() {
        [] => String::new(),
        [other] => format!("; also on {other}"),
        [other, more @ ..] => format!("; also on {other} and {} more", more.len()),
    }
}

/// The first line that says something, and no more than a screen's width or
/// two of it.
fn first_lines(text: &str) -> String {
    let line = text
        .lines()
        .map(str::trim)
        .find(|l| !l.is_empty())
        .unwrap_or("no message");
    match line.char_indices().nth(400) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}
