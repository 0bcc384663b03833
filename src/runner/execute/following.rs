//! Reading what Ansible says until it is over, and ending it before that.

use std::time::Instant;

use super::super::cancel::{Cancel, Signals};
use super::super::claims::HostClaims;
use super::super::progress::Exit;
use super::super::streams::{Lines, Output, read_channel, rest_of_channel};
use super::{DRAIN, End, Execution, GRACE, KILL_LIMIT, OnClaimed, POLL, refused};
use crate::ansible::events::{Message, PlayHost, decode};
use crate::ansible::launch::{self, Running};
use crate::ansible::processes;
use crate::domain::run_event::{OutputStream, RunEvent, TaskNo};
use crate::domain::text::plain;
use crate::error::{Error, Kind};

impl Execution<'_, '_> {
    /// Reads everything that Ansible says until it is over.
    pub(super) async fn follow(
        &mut self,
        running: Running,
        claims: &mut HostClaims,
        signals: &mut Signals,
        on_claimed: OnClaimed<'_>,
    ) -> Result<Exit, End> {
        let Running {
            mut child,
            stdout,
            stderr,
            channel,
        } = running;
        let failed = |what: &str, e: std::io::Error| {
            End::Failed(Error::new(Kind::Local, format!("{what}: {e}")))
        };
        let mut events = Lines::whole();
        let mut out = Output::new(stdout);
        let mut err = Output::new(stderr);
        let mut ticker = tokio::time::interval(POLL);
        let mut exit: Option<(Exit, Instant)> = None;
        let mut cancelled: Option<(Cancel, Instant)> = None;
        loop {
            let over = exit.is_some_and(|(_, at)| at.elapsed() >= DRAIN)
                || (exit.is_some() && out.closed && err.closed && events.closed);
            if over {
                break;
            }
            let mut asked: Option<Vec<PlayHost>> = None;
            tokio::select! {
                read = read_channel(&channel, &mut events), if !events.closed => {
                    read.map_err(|e| failed("cannot read Ansible's events", e))?;
                    while let Some(line) = events.next() {
                        if let Some(hosts) = self.message(&line) {
                            asked = Some(hosts);
                        }
                    }
                }
                () = out.fill(), if !out.closed => self.output(OutputStream::Stdout, &mut out.lines),
                () = err.fill(), if !err.closed => self.output(OutputStream::Stderr, &mut err.lines),
                status = child.wait(), if exit.is_none() => {
                    let ended = Exit::of(status.ok());
                    if ended.signal.is_some() {
                        // Its workers do not notice, and would go on.
                        processes::kill_all(KILL_LIMIT);
                    }
                    exit = Some((ended, Instant::now()));
                }
                cancel = signals.next() => {
                    if cancelled.is_some() {
                        processes::kill_all(KILL_LIMIT);
                    } else {
                        self.cancelling(cancel);
                        processes::terminate_all();
                        cancelled = Some((cancel, Instant::now()));
                    }
                }
                _ = ticker.tick() => self.listeners.tick(),
            }
            if cancelled.is_some_and(|(_, at)| exit.is_none() && at.elapsed() > GRACE) {
                processes::kill_all(KILL_LIMIT);
            }
            if let Some(hosts) = asked.filter(|_| cancelled.is_none()) {
                let granted = self
                    .grant(&hosts, claims, signals, &mut child, &channel, on_claimed)
                    .await;
                if let Err(end) = granted {
                    let _ = launch::answer_stop(&channel);
                    processes::terminate_all();
                    let _ = tokio::time::timeout(GRACE, child.wait()).await;
                    processes::kill_all(KILL_LIMIT);
                    return Err(end);
                }
            }
            self.record();
        }
        rest_of_channel(&channel, &mut events);
        while let Some(line) = events.next() {
            self.message(&line);
        }
        out.rest();
        err.rest();
        self.output(OutputStream::Stdout, &mut out.lines);
        self.output(OutputStream::Stderr, &mut err.lines);
        let refused = self.refused.take();
        // Broken off: say since one of its workers was killed. The tasks of the
        // others would go on beside the next run.
        if cancelled.is_some() || refused.is_some() || self.listeners.progress().broke_off() {
            processes::kill_all(KILL_LIMIT);
        }
        if let Some((cancel, _)) = cancelled {
            return Err(End::Cancelled(cancel));
        }
        if let Some(error) = refused {
            return Err(End::Failed(error));
        }
        Ok(exit.map_or_else(Exit::default, |(exit, _)| exit))
    }

    /// Passes one message of the callback on; gives the hosts that it asks for.
    fn message(&mut self, line: &str) -> Option<Vec<PlayHost>> {
        let message = match decode(line.trim_end()) {
            Ok(message) => message,
            Err(e) => {
                self.emit(RunEvent::Warning {
                    text: format!("an event of Ansible could not be read: {e}"),
                });
                return None;
            }
        };
        let event = match message {
            Message::Claim { hosts } => return Some(hosts),
            Message::Start { ansible_version } => RunEvent::Started { ansible_version },
            Message::Play {
                name,
                pattern,
                hosts,
            } if hosts.is_empty() => RunEvent::PlayEmpty {
                name: self.play_name(&name),
                pattern,
            },
            Message::Play {
                name,
                pattern,
                hosts,
            } => RunEvent::PlayStarted {
                name: self.play_name(&name),
                pattern,
                hosts,
            },
            Message::NoHosts => return None,
            Message::Refused {
                text,
                variables,
                asks,
            } => {
                self.refused = Some(refused(&text, &variables, asks));
                return None;
            }
            Message::Task {
                task,
                name,
                action,
                handler,
            } => {
                self.last_task = self.last_task.max(self.tasks_before + task);
                // The history knows the name as it was kept.
                let name = self.listeners.masker().text(&plain(&name)).into_owned();
                RunEvent::TaskStarted {
                    expected_ms: self.history.task_ms.get(&name).copied(),
                    task: self.task_no(task),
                    name,
                    action,
                    handler,
                }
            }
            Message::Host { task, host } => RunEvent::HostStarted {
                task: self.task_no(task),
                host,
            },
            Message::Result {
                task,
                host,
                status,
                changed,
                duration_ms,
                delegate,
                message,
            } => RunEvent::HostResult {
                task: self.task_no(task),
                host,
                status,
                changed,
                duration_ms,
                delegate,
                message: message.map(|m| plain(&m)),
            },
            Message::Diff { task, host, text } => RunEvent::Diff {
                task: self.task_no(task),
                host,
                text: plain(&text),
            },
            Message::Warning { text } => RunEvent::Warning { text: plain(&text) },
            Message::Stats { hosts, data } => {
                if self.hook.is_none() {
                    let masker = self.listeners.masker();
                    self.data = data.map(|d| masker.value(d));
                }
                RunEvent::Stats {
                    hosts: hosts.into_iter().map(Into::into).collect(),
                }
            }
        };
        match event {
            // The run's own are told, once.
            RunEvent::Started { .. } | RunEvent::Stats { .. } if self.hook.is_some() => {
                self.listeners.count(&event);
            }
            event => self.emit(event),
        }
        None
    }

    fn task_no(&self, task: u32) -> TaskNo {
        TaskNo(self.tasks_before + task)
    }

    fn play_name(&self, name: &str) -> String {
        match &self.hook {
            Some(hook) => format!("{hook}: {}", plain(name)),
            None => plain(name),
        }
    }

    fn output(&mut self, stream: OutputStream, lines: &mut Lines) {
        while let Some(line) = lines.next() {
            let text = plain(&line);
            self.emit(RunEvent::Output { stream, text });
        }
    }
}
