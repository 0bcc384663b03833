//! What is said once and stays on the screen: failures at once, warnings, and
//! at the end the recap. The live and the plain display say the same.

use std::collections::{HashMap, HashSet, VecDeque};

use super::line::Line;
use super::model::Model;
use crate::domain::run_event::{InFlight, OutputStream, ResultStatus, RunEvent, TaskNo};
use crate::ui::text;
use crate::ui::tone::{Palette, Tone};

/// A task that fails on more hosts than this is counted from there on.
const FAILURES_OF_A_TASK: usize = 8;
/// Lines of one message; the rest is in the store.
const MESSAGE_LINES: usize = 20;
/// Lines of Ansible's output that explain a run which failed without a task.
const TAIL: usize = 12;

#[derive(Default)]
pub(super) struct Announcer {
    /// So many hosts of each task were shown; those that failed first.
    failures: HashMap<TaskNo, usize>,
    messages: HashMap<TaskNo, usize>,
    /// Host and message of the last failure that was shown whole.
    last: Option<(TaskNo, String, String)>,
    warnings: HashSet<String>,
    /// Last lines of Ansible's stdout and stderr.
    tails: [VecDeque<String>; 2],
    partial: [String; 2],
    verbose: bool,
}

impl Announcer {
    pub fn new(verbosity: u8) -> Self {
        Announcer {
            verbose: verbosity > 0,
            ..Announcer::default()
        }
    }

    /// Lines to say at this event; `model` has seen it already.
    pub fn observe(&mut self, model: &Model, event: &RunEvent, palette: Palette) -> Vec<Line> {
        match event {
            RunEvent::Requested { .. } => {
                *self = Announcer {
                    verbose: self.verbose,
                    ..Announcer::default()
                };
                Vec::new()
            }
            RunEvent::HostResult {
                task,
                host,
                status,
                message,
                ..
            } => self.result(model, *task, host, *status, message.as_deref(), palette),
            RunEvent::TaskStarted { task, .. } => {
                self.more_failures(model, |no| no != *task, palette)
            }
            RunEvent::PlayEmpty { name, pattern } => {
                let text = format!("play `{name}` matches no host (hosts: {pattern})");
                self.warning(model, &text)
            }
            // With -v Ansible's own output shows it.
            RunEvent::Diff { .. } if self.verbose => Vec::new(),
            RunEvent::Diff { task, host, text } => diff_lines(model, *task, host, text),
            RunEvent::Warning { text } => self.warning(model, text),
            RunEvent::Output { stream, text } => self.output(*stream, text),
            RunEvent::Cancelling { by, in_flight } => {
                let mut lines = vec![Line::of(
                    Tone::Warn,
                    format!("! cancelling, by {}", text::line(by)),
                )];
                lines.extend(in_flight_lines(in_flight));
                lines
            }
            RunEvent::Finished { .. } => {
                let mut lines = self.more_failures(model, |_| true, palette);
                for i in 0..2 {
                    if !self.partial[i].is_empty() {
                        let line = std::mem::take(&mut self.partial[i]);
                        lines.extend(self.output_line(i, line));
                    }
                }
                lines
            }
            RunEvent::Queued { .. }
            | RunEvent::Started { .. }
            | RunEvent::Claimed { .. }
            | RunEvent::PlayStarted { .. }
            | RunEvent::HostStarted { .. }
            | RunEvent::Stats { .. } => Vec::new(),
        }
    }

    fn result(
        &mut self,
        model: &Model,
        task: TaskNo,
        host: &str,
        status: ResultStatus,
        message: Option<&str>,
        palette: Palette,
    ) -> Vec<Line> {
        let (tone, word) = match status {
            ResultStatus::Failed | ResultStatus::Unreachable => (Tone::Bad, status.as_str()),
            ResultStatus::Ignored => (Tone::Warn, "failed, ignored"),
            ResultStatus::Rescued => (Tone::Warn, "failed, rescued"),
            ResultStatus::Ok | ResultStatus::Changed => (Tone::Plain, "says"),
            ResultStatus::Skipped => return Vec::new(),
        };
        let says = tone == Tone::Plain;
        if says && (message.is_none() || self.verbose) {
            return Vec::new();
        }
        let seen = match says {
            true => &mut self.messages,
            false => &mut self.failures,
        };
        let seen = seen.entry(task).or_default();
        *seen += 1;
        if *seen > FAILURES_OF_A_TASK {
            return Vec::new();
        }
        let name = model.tasks.get(&task).map_or("", |t| t.name.as_str());
        let mark = if says { "·" } else { palette.mark(tone) };
        let mut lines = vec![
            Line::of(tone, format!("{mark} {} {word}", text::line(host)))
                .add(Tone::Plain, format!(": {name}")),
        ];
        let message = message.unwrap_or_default();
        match &self.last {
            Some((no, first, said)) if *no == task && said == message && !said.is_empty() => {
                let text = format!("    the same as {first}");
                lines.push(Line::of(Tone::Muted, text));
            }
            _ => {
                lines.extend(message_lines(message, model));
                let host = text::line(host).into_owned();
                self.last = Some((task, host, message.to_owned()));
            }
        }
        lines
    }

    fn more_failures(
        &mut self,
        model: &Model,
        of: impl Fn(TaskNo) -> bool,
        palette: Palette,
    ) -> Vec<Line> {
        let mut lines = Vec::new();
        let failures = self.failures.iter_mut().map(|one| (one, true));
        let messages = self.messages.iter_mut().map(|one| (one, false));
        for ((no, seen), failed) in failures.chain(messages) {
            if of(*no) && *seen > FAILURES_OF_A_TASK {
                let name = model.tasks.get(no).map_or("", |t| t.name.as_str());
                let more = text::count(*seen - FAILURES_OF_A_TASK, "more host");
                let (tone, mark, word) = match failed {
                    true => (Tone::Bad, palette.mark(Tone::Bad), " failed"),
                    false => (Tone::Muted, "·", ""),
                };
                lines.push(
                    Line::of(tone, format!("{mark} {more}{word}"))
                        .add(Tone::Plain, format!(": {name}")),
                );
                *seen = FAILURES_OF_A_TASK;
            }
        }
        lines
    }

    /// Each text once, however many hosts say it, or have it said of them.
    fn warning(&mut self, model: &Model, text: &str) -> Vec<Line> {
        let text = text::line(text.trim()).into_owned();
        let unnamed: Vec<&str> = text
            .split('\'')
            .map(|part| if model.has_host(part) { "*" } else { part })
            .collect();
        if !self.warnings.insert(unnamed.join("'")) {
            return Vec::new();
        }
        vec![Line::of(Tone::Warn, "warning:").add(Tone::Plain, format!(" {text}"))]
    }

    fn output(&mut self, stream: OutputStream, text: &str) -> Vec<Line> {
        let i = match stream {
            OutputStream::Stdout => 0,
            OutputStream::Stderr => 1,
        };
        let mut lines = Vec::new();
        for piece in text.split_inclusive('\n') {
            self.partial[i].push_str(piece);
            if self.partial[i].ends_with('\n') {
                let line = std::mem::take(&mut self.partial[i]);
                lines.extend(self.output_line(i, line));
            }
        }
        lines
    }

    fn output_line(&mut self, stream: usize, line: String) -> Option<Line> {
        let line = text::lines(line.trim_end_matches('\n')).replace('\n', " ");
        if self.verbose {
            return Some(Line::verbatim(Tone::Plain, line));
        }
        if !line.trim().is_empty() {
            let tail = &mut self.tails[stream];
            if tail.len() == TAIL {
                tail.pop_front();
            }
            tail.push_back(line);
        }
        None
    }

    /// Ansible's last words, for a run that failed although no task did.
    pub fn last_words(&self) -> Vec<Line> {
        if !self.failures.is_empty() {
            return Vec::new();
        }
        let [stdout, stderr] = &self.tails;
        let tail = if stderr.is_empty() { stdout } else { stderr };
        tail.iter()
            .map(|l| Line::verbatim(Tone::Plain, format!("    {l}")))
            .collect()
    }
}

/// Whole: whoever asks for a difference wants to read it.
fn diff_lines(model: &Model, task: TaskNo, host: &str, said: &str) -> Vec<Line> {
    let name = model.tasks.get(&task).map_or("", |t| t.name.as_str());
    let mut lines = vec![
        Line::of(Tone::Changed, format!("~ {}", text::line(host)))
            .add(Tone::Plain, format!(": {name}")),
    ];
    lines.extend(text::lines(said.trim_end()).lines().map(|l| {
        let tone = match l.as_bytes().first() {
            Some(b'+') => Tone::Good,
            Some(b'-') => Tone::Bad,
            Some(b'@') => Tone::Muted,
            _ => Tone::Plain,
        };
        Line::verbatim(tone, format!("    {l}"))
    }));
    lines
}

fn message_lines(message: &str, model: &Model) -> Vec<Line> {
    let message = text::lines(message.trim_end());
    let all: Vec<&str> = message.lines().collect();
    let mut lines: Vec<Line> = all
        .iter()
        .take(MESSAGE_LINES)
        .map(|l| Line::of(Tone::Plain, format!("    {l}")))
        .collect();
    if all.len() > MESSAGE_LINES {
        let more = text::count(all.len() - MESSAGE_LINES, "more line");
        let whole = model
            .run
            .map(|run| format!(": kloigos runs show {run}"))
            .unwrap_or_default();
        lines.push(Line::of(Tone::Muted, format!("    {more}{whole}")));
    }
    lines
}

/// What was going on where when the run was cut.
pub(super) fn in_flight_lines(in_flight: &[InFlight]) -> Vec<Line> {
    const SHOWN: usize = 10;
    let mut lines: Vec<Line> = in_flight
        .iter()
        .take(SHOWN)
        .map(|f| {
            Line::of(
                Tone::Plain,
                format!("    {}: {}", text::line(&f.host), text::line(&f.task)),
            )
        })
        .collect();
    if in_flight.len() > SHOWN {
        let more = text::count(in_flight.len() - SHOWN, "more host");
        lines.push(Line::of(Tone::Muted, format!("    {more}")));
    }
    lines
}
