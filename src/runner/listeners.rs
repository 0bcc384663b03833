//! Who hears what a run tells: the record, its progress, the surface. Nothing
//! reaches one of them but through here, where secrets are taken out.

use std::collections::VecDeque;

use super::progress::Progress;
use super::recorder::Recorder;
use crate::clock::Clock;
use crate::domain::masker::{Flow, Masker};
use crate::domain::report::{Report, Reporter};
use crate::domain::run_event::{InFlight, OutputStream, RunEvent};
use crate::error::Error;

/// The last lines of Ansible's error stream, for reasons.
const TAIL: usize = 200;

pub(super) struct Listeners<'x> {
    masker: &'x Masker,
    stdout: Flow,
    stderr: Flow,
    tail: VecDeque<String>,
    recorder: Recorder<'x>,
    progress: Progress,
    reporter: &'x mut dyn Reporter,
    clock: &'x Clock,
}

impl<'x> Listeners<'x> {
    pub(super) fn new(
        masker: &'x Masker,
        recorder: Recorder<'x>,
        reporter: &'x mut dyn Reporter,
        clock: &'x Clock,
    ) -> Self {
        Listeners {
            masker,
            stdout: Flow::default(),
            stderr: Flow::default(),
            tail: VecDeque::new(),
            recorder,
            progress: Progress::default(),
            reporter,
            clock,
        }
    }

    pub(super) fn tell(&mut self, event: RunEvent) {
        if let Some(event) = self.masked(event) {
            self.pass_on(event);
        }
    }

    /// No more output comes: what was held back is told.
    pub(super) fn end_output(&mut self) {
        for (stream, text) in [
            (OutputStream::Stdout, self.stdout.end(self.masker)),
            (OutputStream::Stderr, self.stderr.end(self.masker)),
        ] {
            if !text.is_empty() {
                self.pass_on(RunEvent::Output { stream, text });
            }
        }
    }

    /// Only for what is masked already.
    fn pass_on(&mut self, event: RunEvent) {
        if let RunEvent::Output {
            stream: OutputStream::Stderr,
            text,
        } = &event
        {
            if self.tail.len() == TAIL {
                self.tail.pop_front();
            }
            self.tail.push_back(text.trim_end().to_owned());
        }
        let at = self.clock.now();
        self.recorder.observe(at, &event);
        self.progress.observe(&event);
        self.reporter.report(&Report::Run { at, event });
    }

    pub(super) fn warn(&mut self, text: &str) {
        self.reporter
            .report(&Report::Warning(self.masker.text(text).into_owned()));
    }

    pub(super) fn tick(&mut self) {
        self.reporter.tick(self.clock.now());
    }

    pub(super) fn flush_due(&mut self) -> Result<(), Error> {
        self.recorder.flush_due()
    }

    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.recorder.flush()
    }

    pub(super) fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The end of Ansible's error stream.
    pub(super) fn said(&self) -> String {
        let lines: Vec<&str> = self.tail.iter().map(String::as_str).collect();
        lines.join("\n")
    }

    /// For what is kept or returned beside the events.
    pub(super) fn masker(&self) -> &'x Masker {
        self.masker
    }

    /// None when nothing can be shown yet. Names of hosts stay: results are
    /// counted by them.
    fn masked(&mut self, mut event: RunEvent) -> Option<RunEvent> {
        let masker = self.masker;
        let hide = |text: &mut String| {
            if let std::borrow::Cow::Owned(masked) = masker.text(text) {
                *text = masked;
            }
        };
        let tasks = |in_flight: &mut Vec<InFlight>| {
            for one in in_flight {
                hide(&mut one.task);
            }
        };
        match &mut event {
            RunEvent::Requested { .. }
            | RunEvent::Queued { .. }
            | RunEvent::Started { .. }
            | RunEvent::Claimed { .. }
            | RunEvent::HostStarted { .. }
            | RunEvent::Stats { .. } => {}
            RunEvent::PlayStarted { name, pattern, .. } | RunEvent::PlayEmpty { name, pattern } => {
                hide(name);
                hide(pattern);
            }
            RunEvent::TaskStarted { name, .. } => hide(name),
            RunEvent::HostResult { message, .. } => message.iter_mut().for_each(hide),
            RunEvent::Warning { text } | RunEvent::Diff { text, .. } => hide(text),
            RunEvent::Output { stream, text } => {
                let flow = match stream {
                    OutputStream::Stdout => &mut self.stdout,
                    OutputStream::Stderr => &mut self.stderr,
                };
                *text = flow.pass(masker, text);
                if text.is_empty() {
                    return None;
                }
            }
            RunEvent::Cancelling { in_flight, .. } => tasks(in_flight),
            RunEvent::Finished {
                reason,
                hint,
                in_flight,
                ..
            } => {
                reason.iter_mut().chain(hint).for_each(hide);
                tasks(in_flight);
            }
        }
        Some(event)
    }
}
