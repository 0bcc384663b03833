//! What a run has come to, as far as its display wants to know: fed by events,
//! without terminal or clock.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::domain::run::{RunEnding, RunId, RunStatus};
use crate::domain::run_event::{HostCounts, InFlight, ResultStatus, RunEvent, TaskNo, WaitsFor};
use crate::domain::time::Timestamp;
use crate::ui::text;

#[derive(Debug, Clone, Default)]
pub(super) struct Model {
    pub run: Option<RunId>,
    /// "PATCH@2".
    pub playbook: String,
    pub subject: Option<String>,
    pub check: bool,
    expected_ms: Option<u64>,
    pub expected_tasks: Option<u32>,
    requested_at: Option<Timestamp>,
    /// When its work began: at the request, or after it had waited.
    began_at: Option<Timestamp>,
    queued: bool,
    pub waits_for: Vec<WaitsFor>,
    pub play: Option<String>,
    pub tasks: BTreeMap<TaskNo, Task>,
    pub current: Option<TaskNo>,
    hosts: Vec<Host>,
    by_name: HashMap<String, usize>,
    pub cancelled_by: Option<String>,
    pub end: Option<End>,
}

#[derive(Debug, Clone)]
pub(super) struct Task {
    pub name: String,
    pub started_at: Timestamp,
    pub expected: Option<Duration>,
    /// When its last result came.
    pub last_result_at: Option<Timestamp>,
    pub running: usize,
    pub results: BTreeMap<ResultStatus, usize>,
}

impl Task {
    pub fn answered(&self) -> usize {
        self.results.values().sum()
    }

    pub fn took(&self, now: Timestamp) -> Duration {
        let end = match self.last_result_at {
            Some(at) if self.running == 0 => at,
            _ => now,
        };
        end.since(self.started_at)
    }

    /// Its usual time, when it takes clearly longer now.
    pub fn slower_than(&self, now: Timestamp) -> Option<Duration> {
        let usual = self.expected?;
        (self.took(now) > (usual * 2).max(usual + Duration::from_secs(5))).then_some(usual)
    }
}

#[derive(Debug, Clone)]
pub(super) struct Host {
    pub name: String,
    pub counts: HostCounts,
    pub running: Option<(TaskNo, Timestamp)>,
    last: Option<(TaskNo, ResultStatus)>,
    in_play: bool,
}

/// What a host is doing, those that need eyes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HostState {
    Unreachable,
    Failed,
    Running,
    Waiting,
    Done(ResultStatus),
    /// Not in this play.
    Idle,
}

#[derive(Debug, Clone)]
pub(super) struct End {
    pub status: RunStatus,
    pub ending: RunEnding,
    pub elapsed: Duration,
    pub reason: Option<String>,
    pub hint: Option<String>,
    pub in_flight: Vec<InFlight>,
    pub hosts: Vec<HostCounts>,
}

impl Model {
    pub fn observe(&mut self, at: Timestamp, event: &RunEvent) {
        match event {
            RunEvent::Requested {
                run,
                playbook,
                version,
                check,
                subject,
                expected_ms,
                expected_tasks,
                ..
            } => {
                *self = Model {
                    run: Some(*run),
                    playbook: format!("{playbook}@{version}"),
                    subject: subject.as_deref().map(|s| text::line(s).into_owned()),
                    check: *check,
                    expected_ms: *expected_ms,
                    expected_tasks: *expected_tasks,
                    requested_at: Some(at),
                    ..Model::default()
                };
            }
            RunEvent::Queued { waits_for } => {
                self.queued = true;
                self.waits_for.clone_from(waits_for);
            }
            RunEvent::Claimed { hosts } => {
                self.begin(at);
                for host in hosts {
                    self.host(&host.name);
                }
            }
            RunEvent::PlayStarted { name, hosts, .. } => {
                self.begin(at);
                self.play = Some(text::line(name).into_owned());
                for host in &mut self.hosts {
                    host.in_play = false;
                }
                for name in hosts {
                    self.host(name).in_play = true;
                }
            }
            RunEvent::TaskStarted {
                task,
                name,
                expected_ms,
                ..
            } => {
                self.current = Some(*task);
                self.tasks.insert(
                    *task,
                    Task {
                        name: text::line(name).into_owned(),
                        started_at: at,
                        expected: expected_ms.map(Duration::from_millis),
                        last_result_at: None,
                        running: 0,
                        results: BTreeMap::new(),
                    },
                );
            }
            RunEvent::HostStarted { task, host } => {
                self.host(host).running = Some((*task, at));
                if let Some(task) = self.tasks.get_mut(task) {
                    task.running += 1;
                }
            }
            RunEvent::HostResult {
                task,
                host,
                status,
                changed,
                ..
            } => self.result(at, *task, host, *status, *changed),
            RunEvent::Cancelling { by, .. } => {
                self.cancelled_by = Some(text::line(by).into_owned());
            }
            RunEvent::Finished {
                status,
                ending,
                elapsed_ms,
                reason,
                hint,
                in_flight,
                hosts,
                ..
            } => {
                self.end = Some(End {
                    status: *status,
                    ending: *ending,
                    elapsed: Duration::from_millis(*elapsed_ms),
                    reason: reason.clone(),
                    hint: hint.clone(),
                    in_flight: in_flight.clone(),
                    hosts: hosts.clone(),
                });
            }
            RunEvent::Started { .. }
            | RunEvent::PlayEmpty { .. }
            | RunEvent::Diff { .. }
            | RunEvent::Warning { .. }
            | RunEvent::Output { .. }
            | RunEvent::Stats { .. } => {}
        }
    }

    fn begin(&mut self, at: Timestamp) {
        let from = match self.requested_at {
            Some(requested) if !self.queued => requested,
            _ => at,
        };
        self.began_at.get_or_insert(from);
        self.waits_for.clear();
    }

    fn host(&mut self, name: &str) -> &mut Host {
        let at = match self.by_name.get(name) {
            Some(at) => *at,
            None => {
                self.by_name.insert(name.to_owned(), self.hosts.len());
                let shown = text::line(name).into_owned();
                self.hosts.push(Host {
                    counts: HostCounts::named(shown.as_str()),
                    name: shown,
                    running: None,
                    last: None,
                    in_play: true,
                });
                self.hosts.len() - 1
            }
        };
        &mut self.hosts[at]
    }

    fn result(
        &mut self,
        at: Timestamp,
        no: TaskNo,
        host: &str,
        status: ResultStatus,
        changed: bool,
    ) {
        if let Some(task) = self.tasks.get_mut(&no) {
            task.running = task.running.saturating_sub(1);
            task.last_result_at = Some(at);
            *task.results.entry(status).or_default() += 1;
        }
        let host = self.host(host);
        host.running = None;
        host.last = Some((no, status));
        let counts = &mut host.counts;
        // As Ansible counts: a failed task has changed nothing.
        let over = matches!(status, ResultStatus::Failed | ResultStatus::Unreachable);
        counts.changed += u32::from(changed && !over);
        match status {
            ResultStatus::Ok | ResultStatus::Changed => counts.ok += 1,
            ResultStatus::Skipped => counts.skipped += 1,
            ResultStatus::Failed => counts.failed += 1,
            ResultStatus::Rescued => counts.rescued += 1,
            ResultStatus::Unreachable => counts.unreachable += 1,
            ResultStatus::Ignored => {
                counts.ok += 1;
                counts.ignored += 1;
            }
        }
    }

    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    pub fn has_host(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    pub fn state(&self, host: &Host) -> HostState {
        if host.running.is_some() {
            return HostState::Running;
        }
        match host.last {
            Some((_, ResultStatus::Unreachable)) => HostState::Unreachable,
            Some((_, ResultStatus::Failed)) => HostState::Failed,
            Some((task, status)) if Some(task) == self.current => HostState::Done(status),
            _ if host.in_play => HostState::Waiting,
            _ => HostState::Idle,
        }
    }

    pub fn totals(&self) -> HostCounts {
        let mut sum = HostCounts::default();
        for c in self.hosts.iter().map(|h| &h.counts) {
            sum.ok += c.ok;
            sum.changed += c.changed;
            sum.failed += c.failed;
            sum.unreachable += c.unreachable;
            sum.skipped += c.skipped;
            sum.rescued += c.rescued;
            sum.ignored += c.ignored;
        }
        sum
    }

    pub fn current_task(&self) -> Option<(TaskNo, &Task)> {
        let no = self.current?;
        self.tasks.get(&no).map(|task| (no, task))
    }

    /// Whether it has not begun for want of a host or slot.
    pub fn is_waiting(&self) -> bool {
        !self.waits_for.is_empty()
    }

    pub fn has_begun(&self) -> bool {
        self.began_at.is_some()
    }

    /// Since its beginning, or since it was asked for while it waits.
    pub fn elapsed(&self, now: Timestamp) -> Duration {
        match self.began_at.or(self.requested_at) {
            Some(from) => now.since(from),
            None => Duration::ZERO,
        }
    }

    /// The time that is left, by this playbook's history; zero when it takes
    /// longer than ever, None without a history.
    pub fn left(&self, now: Timestamp) -> Option<Duration> {
        let total = Duration::from_millis(self.expected_ms?);
        let Some((no, task)) = self.current_task() else {
            return Some(total.saturating_sub(self.elapsed(now)));
        };
        // Where each task's usual time is known, what is left is the total
        // without the usual times of what is over: a slow task does not make
        // the rest seem shorter.
        let usual: Option<Duration> = self
            .tasks
            .iter()
            .filter(|(n, _)| **n != no)
            .map(|(_, t)| t.expected)
            .sum();
        let over = match (usual, task.expected) {
            (Some(usual), Some(expected)) => usual + task.took(now).min(expected),
            _ => self.elapsed(now),
        };
        Some(total.saturating_sub(over))
    }

    pub fn expected(&self) -> Option<Duration> {
        self.expected_ms.map(Duration::from_millis)
    }
}
