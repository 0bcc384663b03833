//! From a registered run to its outcome.

mod claiming;
mod ending;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::cancel::{Cancel, Signals};
use super::claims::HostClaims;
use super::engine::Engine;
use super::files::RunFiles;
use super::listeners::Listeners;
use super::progress::Exit;
use super::recorder::Recorder;
use super::request::{RegisteredRun, RunRequest};
use super::start::start;
use super::streams::{Lines, Output, read_channel, rest_of_channel};
use crate::ansible::events::{Message, PlayHost, decode};
use crate::ansible::launch::{self, Purpose, Running};
use crate::ansible::processes;
use crate::domain::report::Reporter;
use crate::domain::run::{RunId, RunOutcome};
use crate::domain::run_event::{OutputStream, RunEvent, TaskNo};
use crate::domain::text::plain;
use crate::error::{Error, Kind};
use crate::store::Tx;

/// How long Ansible may take to end after TERM before everything is killed.
const GRACE: Duration = Duration::from_secs(5);
/// After the child's end, output that is still in the pipes; strays that hold
/// them open do not delay the end for longer.
const DRAIN: Duration = Duration::from_millis(300);
/// How long certain death may take.
const KILL_LIMIT: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(150);

type OnClaimed<'c> = &'c mut dyn FnMut(&Tx<'_>) -> Result<(), Error>;
type OnEnd<'c> = &'c mut dyn FnMut(&Tx<'_>, &RunOutcome) -> Result<(), Error>;

/// Executes the run in the foreground. `on_claimed` and `on_end` change the
/// states of what the run acts on, each in the transaction that changes the
/// run's own.
pub fn execute(
    run: RegisteredRun,
    request: RunRequest,
    engine: &Engine<'_>,
    reporter: &mut dyn Reporter,
    on_claimed: &mut dyn FnMut(&Tx<'_>) -> Result<(), Error>,
    on_end: &mut dyn FnMut(&Tx<'_>, &RunOutcome) -> Result<(), Error>,
) -> Result<RunOutcome, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Error::new(Kind::Local, format!("cannot start the run: {e}")))?;
    runtime.block_on(async {
        let started = Instant::now();
        let id = run.id();
        // Only for estimates.
        let history = engine
            .store
            .read(|tx| tx.runs().history(&request.playbook))
            .unwrap_or_default();
        let masker = super::hidden::masker(&request, engine.env);
        let mut execution = Execution {
            listeners: Listeners::new(
                &masker,
                Recorder::new(engine.store, id, engine.output_max),
                reporter,
                engine.clock,
            ),
            history,
            id,
            engine,
            request: &request,
            started,
            running_since: None,
            data: None,
            store_failed: None,
            said_by_name: false,
            refused: None,
        };
        let mut signals = Signals::listen()?;
        let mut claims = HostClaims::default();
        let end = execution.go(&mut claims, &mut signals, on_claimed).await;
        // The hosts are free when the end is on record, not before: the next
        // run on them must find this one over.
        let outcome = execution.finish(end, on_end);
        drop(claims);
        outcome
    })
}

/// Why the work is over.
enum End {
    /// Ansible ended by itself.
    Exited(Exit, PathBuf),
    Cancelled(Cancel),
    /// A claim or slot was not had.
    NotClaimed(String),
    /// Something here failed before or beside Ansible.
    Failed(Error),
}

struct Execution<'x, 'e> {
    id: RunId,
    engine: &'x Engine<'e>,
    request: &'x RunRequest,
    history: crate::store::runs::History,
    listeners: Listeners<'x>,
    started: Instant,
    running_since: Option<Instant>,
    data: Option<serde_json::Value>,
    /// The first failure to record; the run goes on, and says so at its end.
    store_failed: Option<Error>,
    said_by_name: bool,
    /// Ansible ends since a question has nobody to answer it.
    refused: Option<Error>,
}

/// Never passed in silence, and never waited for by a process without a
/// terminal.
pub(super) fn refused(text: &str, variables: &[String]) -> Error {
    let error = Error::new(
        Kind::Refused,
        format!("{}, and a run never asks", plain(text)),
    );
    if variables.is_empty() {
        error.hint("give the task a time (`seconds`), or split the playbook where a person decides")
    } else {
        let given: Vec<String> = variables
            .iter()
            .map(|v| format!("-e {}=…", plain(v)))
            .collect();
        error.hint(format!("answer beforehand: {}", given.join(" ")))
    }
}

impl Execution<'_, '_> {
    fn emit(&mut self, event: RunEvent) {
        self.listeners.tell(event);
    }

    /// Records what is due. A store that cannot be written does not stop
    /// Ansible in the middle of a host.
    fn record(&mut self) {
        if self.store_failed.is_some() {
            return;
        }
        if let Err(e) = self.listeners.flush_due() {
            self.listeners.warn(&format!(
                "the run goes on, but is not recorded any more: {e}"
            ));
            self.store_failed = Some(e);
        }
    }

    async fn go(
        &mut self,
        claims: &mut HostClaims,
        signals: &mut Signals,
        on_claimed: OnClaimed<'_>,
    ) -> End {
        self.emit(RunEvent::Requested {
            run: self.id,
            playbook: self.request.playbook.clone(),
            version: self.request.version,
            digest: self.request.digest.clone(),
            check: self.request.options.check,
            subject: self.request.subject.clone(),
            expected_ms: self.history.elapsed_ms,
            expected_tasks: self.history.tasks,
        });
        // Hosts that are known before Ansible starts are claimed first: a run
        // that waits costs no process.
        match self.known_keys() {
            Ok(keys) if keys.is_empty() => {}
            Ok(keys) => {
                if let Err(end) = self.claim(keys, claims, signals, None).await {
                    return end;
                }
                if let Err(e) = self.begin(on_claimed) {
                    return End::Failed(e);
                }
            }
            Err(e) => return End::Failed(e),
        }
        let files = match RunFiles::create(self.engine.paths.run(self.id)) {
            Ok(files) => files,
            Err(e) => return End::Failed(e),
        };
        let running = match start(self.engine, self.request, &files, Purpose::Run) {
            Ok(running) => running,
            Err(e) => return End::Failed(e),
        };
        let end = self.follow(running, claims, signals, on_claimed).await;
        processes::end_masters(files.control());
        match end {
            Ok(exit) => End::Exited(exit, files.project()),
            Err(end) => end,
        }
    }

    /// Queued becomes running, together with what the run acts on.
    fn begin(&mut self, on_claimed: OnClaimed<'_>) -> Result<(), Error> {
        if self.running_since.is_some() {
            return Ok(());
        }
        self.engine.store.write(|tx| {
            let run = tx.runs().get(self.id)?.ok_or_else(|| {
                Error::not_found(format!("run {} is gone from the store", self.id))
            })?;
            tx.runs().start(self.id, run.start()?)?;
            on_claimed(tx)
        })?;
        self.running_since = Some(Instant::now());
        Ok(())
    }

    fn cancelling(&mut self, cancel: Cancel) {
        let in_flight = self.listeners.progress().in_flight();
        self.emit(RunEvent::Cancelling {
            by: cancel.name().to_owned(),
            in_flight,
        });
    }

    /// Reads everything that Ansible says until it is over.
    async fn follow(
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
                        processes::terminate_all(&[]);
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
                    processes::terminate_all(&[]);
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
        if !self.listeners.progress().has_stats() {
            // It broke off, say since one of its workers was killed: the tasks
            // of the others would go on beside the next run.
            processes::kill_all(KILL_LIMIT);
        }
        if let Some((cancel, _)) = cancelled {
            processes::kill_all(KILL_LIMIT);
            return Err(End::Cancelled(cancel));
        }
        if let Some(error) = self.refused.take() {
            processes::kill_all(KILL_LIMIT);
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
            } if hosts.is_empty() => RunEvent::PlayEmpty { name, pattern },
            Message::Play {
                name,
                pattern,
                hosts,
            } => RunEvent::PlayStarted {
                name: plain(&name),
                pattern,
                hosts,
            },
            Message::NoHosts => return None,
            Message::Refused { text, variables } => {
                self.refused = Some(refused(&text, &variables));
                return None;
            }
            Message::Task {
                task,
                name,
                action,
                handler,
            } => {
                // The history knows the name as it was kept.
                let name = self.listeners.masker().text(&plain(&name)).into_owned();
                RunEvent::TaskStarted {
                    expected_ms: self.history.task_ms.get(&name).copied(),
                    task: TaskNo(task),
                    name,
                    action,
                    handler,
                }
            }
            Message::Host { task, host } => RunEvent::HostStarted {
                task: TaskNo(task),
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
                task: TaskNo(task),
                host,
                status,
                changed,
                duration_ms,
                delegate,
                message: message.map(|m| plain(&m)),
            },
            Message::Diff { task, host, text } => RunEvent::Diff {
                task: TaskNo(task),
                host,
                text: plain(&text),
            },
            Message::Warning { text } => RunEvent::Warning { text: plain(&text) },
            Message::Stats { hosts, data } => {
                let masker = self.listeners.masker();
                self.data = data.map(|d| masker.value(d));
                RunEvent::Stats {
                    hosts: hosts.into_iter().map(Into::into).collect(),
                }
            }
        };
        self.emit(event);
        None
    }

    fn output(&mut self, stream: OutputStream, lines: &mut Lines) {
        while let Some(line) = lines.next() {
            let text = plain(&line);
            self.emit(RunEvent::Output { stream, text });
        }
    }
}
