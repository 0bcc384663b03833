//! Who hears what a run tells: the record, its progress, the surface. Nothing
//! reaches one of them but through here, where secrets are taken out.

use std::collections::VecDeque;
use std::rc::Rc;

use super::progress::Progress;
use super::recorder::Recorder;
use crate::clock::Clock;
use crate::domain::masker::{Flow, Masker};
use crate::domain::report::{Report, Reporter};
use crate::domain::run_event::{InFlight, OutputStream, RunEvent};
use crate::error::Error;

/// The last lines of Ansible's error stream, for reasons.
const TAIL: usize = 200;

/// What one start of Ansible has come to.
#[derive(Default)]
pub(super) struct Stood {
    pub(super) progress: Progress,
    tail: VecDeque<String>,
}

impl Stood {
    /// The end of Ansible's error stream.
    pub(super) fn said(&self) -> String {
        let lines: Vec<&str> = self.tail.iter().map(String::as_str).collect();
        lines.join("\n")
    }
}

pub(super) struct Listeners<'x> {
    masker: Rc<Masker>,
    stdout: Flow,
    stderr: Flow,
    recorder: Recorder<'x>,
    stood: Stood,
    reporter: &'x mut dyn Reporter,
    clock: &'x Clock,
}

impl<'x> Listeners<'x> {
    pub(super) fn new(
        masker: Masker,
        recorder: Recorder<'x>,
        reporter: &'x mut dyn Reporter,
        clock: &'x Clock,
    ) -> Self {
        Listeners {
            masker: Rc::new(masker),
            stdout: Flow::default(),
            stderr: Flow::default(),
            recorder,
            stood: Stood::default(),
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
            (OutputStream::Stdout, self.stdout.end(&self.masker)),
            (OutputStream::Stderr, self.stderr.end(&self.masker)),
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
            let tail = &mut self.stood.tail;
            if tail.len() == TAIL {
                tail.pop_front();
            }
            tail.push_back(text.trim_end().to_owned());
        }
        let at = self.clock.now();
        self.recorder.observe(at, &event);
        self.stood.progress.observe(at, &event);
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
        &self.stood.progress
    }

    pub(super) fn progress_mut(&mut self) -> &mut Progress {
        &mut self.stood.progress
    }

    /// What another start of Ansible comes to is counted by itself; gives what
    /// was counted so far.
    pub(super) fn count_anew(&mut self, from: Stood) -> Stood {
        self.end_output();
        std::mem::replace(&mut self.stood, from)
    }

    /// Only for the count: neither kept nor shown.
    pub(super) fn count(&mut self, event: &RunEvent) {
        self.stood.progress.observe(self.clock.now(), event);
    }

    pub(super) fn said(&self) -> String {
        self.stood.said()
    }

    /// For what is kept or returned beside the events.
    pub(super) fn masker(&self) -> Rc<Masker> {
        Rc::clone(&self.masker)
    }

    /// Secrets that came up while the run went on.
    pub(super) fn hide(&mut self, masker: Masker) {
        self.masker = Rc::new(masker);
    }

    /// None when nothing can be shown yet. Names of hosts stay: results are
    /// counted by them.
    fn masked(&mut self, mut event: RunEvent) -> Option<RunEvent> {
        let masker = Rc::clone(&self.masker);
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
                *text = flow.pass(&masker, text);
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
