//! The plain display, for logs: one line a task, one a failed host, no control
//! codes, nothing redrawn.

use std::time::Duration;

use jiff::tz::TimeZone;

use super::announce::Announcer;
use super::frame::waits_for;
use super::model::{Model, Task};
use super::recap::recap;
use crate::domain::report::{Report, Reporter};
use crate::domain::run_event::{ResultStatus, RunEvent, TaskNo};
use crate::domain::time::Timestamp;
use crate::ui::Ui;
use crate::ui::text;
use crate::ui::tone::Palette;

/// A task that goes on for longer is mentioned again each time.
const STILL: Duration = Duration::from_secs(60);

pub(super) struct Plain<'a> {
    ui: &'a Ui,
    narrator: Narrator,
}

impl<'a> Plain<'a> {
    pub fn new(ui: &'a Ui) -> Self {
        Plain {
            ui,
            narrator: Narrator::new(ui.verbosity(), ui.err, ui.zone.clone()),
        }
    }
}

impl Reporter for Plain<'_> {
    fn report(&mut self, report: &Report) {
        match report {
            Report::Run { at, event } => {
                let text = self.narrator.observe(*at, event);
                self.ui.streams.err(&self.ui.broken_between_words(&text));
            }
            Report::Step(text) => self.ui.step(text),
            Report::Note(text) => self.ui.note(text),
            Report::Warning(text) => self.ui.warning(text),
        }
    }

    fn tick(&mut self, now: Timestamp) {
        let text = self.narrator.tick(now);
        self.ui.streams.err(&self.ui.broken_between_words(&text));
    }
}

/// What is said, as text: without a terminal, so that it can be tested.
pub(super) struct Narrator {
    palette: Palette,
    zone: TimeZone,
    model: Model,
    announcer: Announcer,
    /// Tasks whose line is still to come.
    open: Vec<TaskNo>,
    waits: String,
    /// When something was last said.
    said_at: Option<Timestamp>,
}

impl Narrator {
    pub fn new(verbosity: u8, palette: Palette, zone: TimeZone) -> Self {
        Narrator {
            palette,
            zone,
            model: Model::default(),
            announcer: Announcer::new(verbosity),
            open: Vec::new(),
            waits: String::new(),
            said_at: None,
        }
    }

    pub fn observe(&mut self, at: Timestamp, event: &RunEvent) -> String {
        let palette = self.palette;
        let mut out = String::new();
        // A task's line comes when the next thing begins, with its results.
        match event {
            RunEvent::TaskStarted { .. }
            | RunEvent::PlayStarted { .. }
            | RunEvent::PlayEmpty { .. }
            | RunEvent::Stats { .. } => self.close_tasks(at, false, &mut out),
            RunEvent::Finished { .. } => self.close_tasks(at, true, &mut out),
            _ => {}
        }
        self.model.observe(at, event);
        let m = &self.model;
        let clock = text::clock(m.elapsed(at));
        match event {
            RunEvent::Requested { .. } => {
                self.open.clear();
                self.waits.clear();
                let run = m.run.map(|r| r.to_string()).unwrap_or_default();
                let subject = m.subject.as_ref().map(|s| format!(", {s}"));
                out.push_str(&format!(
                    "run {run}: {}{}{}\n",
                    m.playbook,
                    subject.unwrap_or_default(),
                    if m.check { ", check" } else { "" },
                ));
            }
            RunEvent::Queued { waits_for: list } => {
                let waits: String = list
                    .iter()
                    .map(|w| waits_for(w, at, &self.zone).join(", ") + "\n")
                    .collect();
                // The ages in it move on; the news are who and what.
                let key = list
                    .iter()
                    .map(|w| format!("{:?} {:?}\n", w.host, w.run))
                    .collect();
                if self.waits != key {
                    out.push_str(&waits);
                    self.waits = key;
                }
            }
            RunEvent::PlayStarted { name, hosts, .. } => {
                out.push_str(&format!(
                    "{clock} play: {} ({})\n",
                    text::line(name),
                    text::count(hosts.len(), "host")
                ));
            }
            RunEvent::TaskStarted { task, .. } => self.open.push(*task),
            _ => {}
        }
        for line in self.announcer.observe(m, event, palette) {
            out.push_str(&line.paint(usize::MAX, palette));
            out.push('\n');
        }
        if let Some(end) = &m.end {
            out.push_str(&recap(m, end, &self.announcer, None, palette));
        }
        if !out.is_empty() {
            self.said_at = Some(at);
        }
        out
    }

    /// Says that a long task is still going on.
    pub fn tick(&mut self, now: Timestamp) -> String {
        let m = &self.model;
        let (Some(said), None) = (self.said_at, &m.end) else {
            return String::new();
        };
        if now.since(said) < STILL {
            return String::new();
        }
        let text = match m.current_task() {
            _ if m.is_waiting() => format!("still waiting, for {}", text::duration(m.elapsed(now))),
            Some((no, task)) => {
                let usual = task
                    .expected
                    .map(|d| format!(", usually {}", text::duration(d)))
                    .unwrap_or_default();
                let running: Vec<&str> = m
                    .hosts()
                    .iter()
                    .filter(|h| h.running.is_some())
                    .map(|h| h.name.as_str())
                    .collect();
                let on = match running.as_slice() {
                    [] => String::new(),
                    few if few.len() <= 5 => format!(", on {}", few.join(", ")),
                    many => format!(", on {} hosts", many.len()),
                };
                format!(
                    "still at task {}, {}: {}{usual}{on}",
                    no.0,
                    task.name,
                    text::duration(task.took(now))
                )
            }
            None => "still starting".to_owned(),
        };
        self.said_at = Some(now);
        format!("{} {text}\n", text::clock(m.elapsed(now)))
    }

    /// The lines of tasks that all hosts have answered, or of all tasks.
    fn close_tasks(&mut self, at: Timestamp, all: bool, out: &mut String) {
        let m = &self.model;
        let clock = text::clock(m.elapsed(at));
        self.open.retain(|no| {
            let Some(task) = m.tasks.get(no) else {
                return false;
            };
            if task.running > 0 && !all {
                return true;
            }
            out.push_str(&format!(
                "{clock} task {}{}: {}: {}\n",
                no.0,
                match m.expected_tasks {
                    Some(n) if no.0 <= n => format!(" of about {n}"),
                    _ => String::new(),
                },
                task.name,
                results(task, at),
            ));
            false
        });
    }
}

/// "1 changed, 2 ok (3.1 s)".
fn results(task: &Task, at: Timestamp) -> String {
    if task.answered() == 0 {
        return "no result".to_owned();
    }
    let parts: Vec<String> = [
        ResultStatus::Ok,
        ResultStatus::Changed,
        ResultStatus::Failed,
        ResultStatus::Rescued,
        ResultStatus::Ignored,
        ResultStatus::Unreachable,
        ResultStatus::Skipped,
    ]
    .iter()
    .filter_map(|s| task.results.get(s).map(|n| format!("{n} {s}")))
    .collect();
    let slow = task
        .slower_than(at)
        .map(|usual| format!(", usually {}", text::duration(usual)));
    format!(
        "{} ({}{})",
        parts.join(", "),
        text::duration(task.took(at)),
        slow.unwrap_or_default()
    )
}
