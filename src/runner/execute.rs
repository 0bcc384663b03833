//! From a registered run to its outcome.

mod claiming;
mod ending;
mod following;
mod hooks;
mod stage;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::cancel::{Cancel, Signals};
use super::claims::HostClaims;
use super::credentials::CredentialDir;
use super::engine::Engine;
use super::files::RunFiles;
use super::listeners::Listeners;
use super::progress::Exit;
use super::recorder::Recorder;
use super::request::{RegisteredRun, RunRequest};
use super::start::start;
use crate::ansible::launch::Purpose;
use crate::ansible::processes;
use crate::domain::report::Reporter;
use crate::domain::run::{RunEnding, RunId, RunOutcome};
use crate::domain::run_event::RunEvent;
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
                masker,
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
            said_cut: BTreeSet::new(),
            refused: None,
            hook: None,
            credentials: None,
            keys: Vec::new(),
            tasks_before: 0,
            last_task: 0,
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
    /// The run's own playbook was not started.
    NotStarted(RunEnding, Option<String>),
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
    /// Earlier runs that may still be at work: hooks list the hosts twice.
    said_cut: BTreeSet<RunId>,
    /// Ansible ends since a question has nobody to answer it.
    refused: Option<Error>,
    /// While Ansible works on a hook and not on the run's playbook.
    hook: Option<stage::Hook>,
    credentials: Option<CredentialDir>,
    /// Private keys that were seen there.
    keys: Vec<String>,
    /// Each start of Ansible counts its tasks from 1.
    tasks_before: u32,
    last_task: u32,
}

/// Never passed in silence, and never waited for by a process without a
/// terminal.
pub(super) fn refused(text: &str, variables: &[String], asks: bool) -> Error {
    if !asks {
        return Error::new(Kind::Refused, plain(text));
    }
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
        self.hide_new_key();
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
        match &self.request.hooks {
            Some(hooks) => {
                self.with_credentials(hooks, &files, claims, signals, on_claimed)
                    .await
            }
            None => self.target(&files, None, claims, signals, on_claimed).await,
        }
    }

    /// The run's own playbook.
    async fn target(
        &mut self,
        files: &RunFiles,
        own: Option<&Map<String, Value>>,
        claims: &mut HostClaims,
        signals: &mut Signals,
        on_claimed: OnClaimed<'_>,
    ) -> End {
        let running = match start(self.engine, self.request, files, Purpose::Run, own) {
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
}
