//! The end of a run: its outcome, recorded together with what it acted on.

use super::{End, Execution, OnEnd};
use crate::domain::masker::Masker;
use crate::domain::run::{RunEnding, RunOutcome};
use crate::domain::run_event::RunEvent;
use crate::error::{Error, Kind};
use crate::store::Store;
use crate::store::runs::Ended;

/// What is shown of a failure here may repeat what Ansible said.
fn masked(masker: &Masker, error: Error) -> Error {
    let hide = |text: &String| masker.text(text).into_owned();
    Error {
        kind: error.kind,
        message: hide(&error.message),
        hints: error.hints.iter().map(hide).collect(),
    }
}

impl Execution<'_, '_> {
    pub(super) fn finish(mut self, end: End, on_end: OnEnd<'_>) -> Result<RunOutcome, Error> {
        self.listeners.end_output();
        let masker = &*self.listeners.masker();
        let said = self.listeners.said();
        let mut ansible_exit = None;
        let mut error = None;
        let (ending, reason) = match end {
            End::Exited(exit, workdir) => {
                ansible_exit = exit.code;
                let known_hosts = self.engine.paths.known_hosts();
                self.listeners
                    .progress()
                    .ending(self.request, exit, &said, &workdir, &known_hosts)
            }
            End::NotStarted(ending, reason) => (ending, reason),
            End::Cancelled(cancel) => (
                cancel.ending(),
                Some(format!("cancelled by {}", cancel.name())),
            ),
            End::NotClaimed(why) => (RunEnding::ClaimTimeout, Some(why)),
            End::Failed(e) => {
                let e = masked(masker, e);
                let reason = e.to_string();
                error = Some(e);
                (RunEnding::AnsibleError, Some(reason))
            }
        };
        let outcome = RunOutcome {
            run: self.id,
            status: ending.status(),
            ending,
            reason: reason.map(|r| masker.text(&r).into_owned()),
            hosts: self.listeners.progress().counts(),
            data: self.data.take(),
        };
        // Told with the end of the run, so the command need not say it again.
        let hint = match error.as_ref().filter(|e| !e.hints.is_empty()) {
            Some(e) => Some(e.hints.join("; ")),
            None => self.listeners.progress().hint(
                self.request,
                ending,
                &self.engine.paths.known_hosts(),
            ),
        };
        let code = error
            .as_ref()
            .map_or(Kind::Run(ending).exit_code(), Error::exit_code);
        let recorded = self.record_end(&outcome, code, ansible_exit, on_end);
        let in_flight = match ending {
            RunEnding::Success => Vec::new(),
            _ => self.listeners.progress().in_flight(),
        };
        let elapsed = self.running_since.unwrap_or(self.started).elapsed();
        self.emit(RunEvent::Finished {
            run: self.id,
            status: outcome.status,
            ending,
            exit_code: code,
            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            reason: outcome.reason.clone(),
            hint,
            in_flight,
            hosts: outcome.hosts.clone(),
        });
        recorded?;
        match error {
            Some(e) => Err(Error {
                kind: Kind::Told { exit_code: code },
                ..e
            }),
            None => Ok(outcome),
        }
    }

    /// The last rows, the end, and what the run acted on.
    fn record_end(
        &mut self,
        outcome: &RunOutcome,
        exit_code: u8,
        ansible_exit: Option<i32>,
        on_end: OnEnd<'_>,
    ) -> Result<(), Error> {
        let store: &Store = self.engine.store;
        // Rows that cannot be kept must not keep the end from being recorded:
        // the run would be taken for one whose process died.
        let kept = self.listeners.flush();
        store.write(|tx| {
            let run = tx.runs().get(self.id)?.ok_or_else(|| {
                Error::not_found(format!("run {} is gone from the store", self.id))
            })?;
            tx.runs().end(
                self.id,
                run.end(outcome.ending)?,
                &Ended {
                    ending: outcome.ending,
                    reason: outcome.reason.as_deref(),
                    ansible_exit,
                    data: outcome.data.as_ref(),
                    hosts: &outcome.hosts,
                    exit_code,
                },
            )?;
            tx.claims().clear(self.id)?;
            on_end(tx, outcome)
        })?;
        kept
    }
}
