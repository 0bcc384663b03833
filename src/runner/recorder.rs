//! Keeps what a run tells in the store, in batches: a crash loses at most the
//! last quarter of a second of results and five seconds of output.

use std::time::{Duration, Instant};

use crate::domain::run::RunId;
use crate::domain::run_event::{OutputStream, RunEvent, RunHost};
use crate::domain::time::Timestamp;
use crate::error::Error;
use crate::store::Store;
use crate::store::runs::{ResultRow, TaskRow};

const RESULTS_EVERY: Duration = Duration::from_millis(250);
const OUTPUT_EVERY: Duration = Duration::from_secs(5);
const OUTPUT_LINES: usize = 50;
const TRUNCATED: &str = "[output truncated]\n";

pub(super) struct Recorder<'a> {
    store: &'a Store,
    run: RunId,
    play: String,
    hosts: Vec<RunHost>,
    tasks: Vec<TaskRow>,
    results: Vec<ResultRow>,
    results_kept: u64,
    output: Vec<(OutputStream, String)>,
    output_lines: usize,
    output_kept: u64,
    /// Bytes that may still be stored.
    output_left: u64,
    truncated: bool,
    last_results: Instant,
    last_output: Instant,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(store: &'a Store, run: RunId, output_max: u64) -> Self {
        let now = Instant::now();
        Recorder {
            store,
            run,
            play: String::new(),
            hosts: Vec::new(),
            tasks: Vec::new(),
            results: Vec::new(),
            results_kept: 0,
            output: Vec::new(),
            output_lines: 0,
            output_kept: 0,
            output_left: output_max,
            truncated: false,
            last_results: now,
            last_output: now,
        }
    }

    pub(super) fn observe(&mut self, at: Timestamp, event: &RunEvent) {
        match event {
            RunEvent::Claimed { hosts } => self.hosts.extend(hosts.iter().cloned()),
            RunEvent::PlayStarted { name, .. } => self.play.clone_from(name),
            RunEvent::TaskStarted {
                task,
                name,
                action,
                handler,
                ..
            } => self.tasks.push(TaskRow {
                task: *task,
                play: self.play.clone(),
                name: name.clone(),
                action: action.clone(),
                handler: *handler,
                started_at: at,
            }),
            RunEvent::HostResult {
                task,
                host,
                status,
                changed,
                duration_ms,
                message,
                ..
            } => self.results.push(ResultRow {
                task: *task,
                host: host.clone(),
                status: *status,
                changed: *changed,
                duration_ms: *duration_ms,
                message: message.clone(),
            }),
            RunEvent::Output { stream, text } => self.add_output(*stream, text),
            _ => {}
        }
    }

    /// Within the cap, cut on a character boundary.
    fn add_output(&mut self, stream: OutputStream, text: &str) {
        if self.truncated {
            return;
        }
        let fits = usize::try_from(self.output_left).unwrap_or(usize::MAX);
        let kept = if text.len() <= fits {
            text.to_owned()
        } else {
            self.truncated = true;
            let end = (0..=fits)
                .rev()
                .find(|i| text.is_char_boundary(*i))
                .unwrap_or(0);
            format!("{}\n{TRUNCATED}", &text[..end])
        };
        self.output_left = self.output_left.saturating_sub(text.len() as u64);
        self.output_lines += 1;
        match self.output.last_mut() {
            Some((last, chunk)) if *last == stream => chunk.push_str(&kept),
            _ => self.output.push((stream, kept)),
        }
    }

    /// Writes what is due.
    pub(super) fn flush_due(&mut self) -> Result<(), Error> {
        let results_due = self.last_results.elapsed() >= RESULTS_EVERY
            && !(self.results.is_empty() && self.tasks.is_empty() && self.hosts.is_empty());
        let output_due = !self.output.is_empty()
            && (self.output_lines >= OUTPUT_LINES || self.last_output.elapsed() >= OUTPUT_EVERY);
        if results_due || output_due {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes everything. What could not be written stays for the next time.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.store.write(|tx| {
            let runs = tx.runs();
            runs.add_hosts(self.run, &self.hosts)?;
            runs.add_tasks(self.run, &self.tasks)?;
            runs.add_results(self.run, self.results_kept + 1, &self.results)?;
            for (seq, (stream, text)) in (self.output_kept..).zip(&self.output) {
                runs.add_output(self.run, seq, *stream, text)?;
            }
            Ok::<_, Error>(())
        })?;
        self.results_kept += self.results.len() as u64;
        self.output_kept += self.output.len() as u64;
        self.hosts.clear();
        self.tasks.clear();
        self.results.clear();
        self.output.clear();
        self.output_lines = 0;
        self.last_results = Instant::now();
        self.last_output = Instant::now();
        Ok(())
    }
}
