//! A run that logs in with credentials of its own: who the hosts are, prepare,
//! the run's playbook, cleanup, and the end of the credentials.
//!
//! Each is a start of Ansible by itself, under the same claims and in the same
//! record. Once prepare has begun, cleanup runs however the rest ends, and the
//! credentials are removed after it.

use std::time::Duration;

use serde_json::json;

use super::super::cancel::Signals;
use super::super::claims::HostClaims;
use super::super::credentials::{CredentialDir, check_logins};
use super::super::files::{CredentialsLeft, RunFiles, Stage};
use super::super::hook_variables;
use super::super::listen::{Heard, heard};
use super::super::progress::Credentials;
use super::super::request::{HookPlaybook, Hooks};
use super::stage::Hook;
use super::{End, Execution, KILL_LIMIT, OnClaimed, refused};
use crate::ansible::events::{Message, PlayHost};
use crate::ansible::launch::Purpose;
use crate::ansible::processes;
use crate::domain::event::NewEvent;
use crate::domain::run_event::{OutputStream, RunEvent};
use crate::domain::text::plain;
use crate::error::Error;

/// The hosts are not held for longer by a cleanup that hangs.
const CLEANUP_LIMIT: Duration = Duration::from_secs(300);
/// The same after a cancel, when somebody waits.
const CLEANUP_AFTER_CANCEL: Duration = Duration::from_secs(60);

fn name(hook: &HookPlaybook) -> String {
    format!("{}@{}", hook.playbook, hook.version)
}

impl Execution<'_, '_> {
    pub(super) async fn with_credentials(
        &mut self,
        hooks: &Hooks,
        files: &RunFiles,
        claims: &mut HostClaims,
        signals: &mut Signals,
        on_claimed: OnClaimed<'_>,
    ) -> End {
        let hosts = match self.list_hosts(files, signals).await {
            Ok(hosts) => hosts,
            Err(end) => return end,
        };
        if let Err(e) = check_logins(&hosts) {
            return End::Failed(e);
        }
        // Before there is a key: its minutes must not pass in a queue.
        if let Err(end) = self
            .claim_hosts(&hosts, claims, signals, None, on_claimed)
            .await
        {
            return end;
        }
        let dir = match self.credential_dir(hooks, files) {
            Ok(dir) => dir,
            Err(e) => return End::Failed(e),
        };
        self.credentials = Some(dir.clone());
        let request = |of: &HookPlaybook| {
            let variables = hook_variables::of(self.request, self.id, &dir.path(), &hosts);
            hook_variables::request(self.request, of, variables)
        };
        let prepare = request(&hooks.prepare);
        let cleanup = hooks.cleanup.as_ref().map(|c| (name(c), request(c)));

        let hook = Hook::new(Stage::Prepare, name(&hooks.prepare));
        let prepared = self
            .hook(hook, &prepare, files, claims, signals, on_claimed)
            .await;
        let end = match prepared {
            Ok(()) => {
                self.log_in(&dir, hooks, files, claims, signals, on_claimed)
                    .await
            }
            Err(end) => end,
        };
        if let Some((name, request)) = cleanup {
            let limit = match end {
                End::Cancelled(_) => CLEANUP_AFTER_CANCEL,
                _ => CLEANUP_LIMIT,
            };
            let hook = Hook::new(Stage::Cleanup, name.clone());
            let cleaned = tokio::time::timeout(
                limit,
                self.hook(hook, &request, files, claims, signals, on_claimed),
            )
            .await;
            let why = match cleaned {
                Ok(Ok(())) => None,
                Ok(Err(end)) => Some(why(end)),
                Err(_) => {
                    self.hook_over();
                    Some(format!("it was still going after {} s", limit.as_secs()))
                }
            };
            if let Some(why) = why {
                self.not_cleaned(&name, &why);
            }
        }
        self.end_credentials(&dir, hooks.retain && !self.succeeded(&end));
        end
    }

    fn not_cleaned(&mut self, playbook: &str, why: &str) {
        let why = self.listeners.masker().text(why).into_owned();
        self.emit(RunEvent::Warning {
            text: format!(
                "cleanup failed, so what was issued for this run may still be valid: {why}"
            ),
        });
        self.record_event(
            "run.cleanup_failed",
            json!({ "cleanup_playbook": playbook, "reason": why }),
        );
    }

    /// A failure to record it is no reason to leave credentials behind.
    fn record_event(&mut self, kind: &'static str, detail: serde_json::Value) {
        let event = NewEvent::new(kind, format!("run {}", self.id))
            .run(self.id)
            .detail(detail);
        let recorded = self
            .engine
            .store
            .write(|tx| Ok::<_, Error>(tx.events().append(event.clone())?));
        if let Err(e) = recorded {
            self.listeners
                .warn(&format!("an event is not recorded: {e}"));
        }
    }

    fn end_credentials(&mut self, dir: &CredentialDir, retain: bool) {
        let text = if retain {
            format!(
                "the SSH credentials of this run are kept in {}; remove them when you have looked",
                dir.path().display()
            )
        } else {
            match dir.remove() {
                Ok(()) => return,
                Err(e) => format!("the SSH credentials of this run are still there: {e}"),
            }
        };
        self.emit(RunEvent::Warning { text });
    }

    fn succeeded(&self, end: &End) -> bool {
        let End::Exited(exit, workdir) = end else {
            return false;
        };
        let known_hosts = self.engine.paths.known_hosts();
        let said = self.listeners.said();
        let progress = self.listeners.progress();
        let (ending, _) = progress.ending(self.request, *exit, &said, workdir, &known_hosts);
        !ending.is_failure()
    }

    /// One process start more: what Ansible says of the run's playbook, before
    /// anything is made for it.
    async fn list_hosts(
        &mut self,
        files: &RunFiles,
        signals: &mut Signals,
    ) -> Result<Vec<PlayHost>, End> {
        let files = files.stage(Stage::List).map_err(End::Failed)?;
        let told = tokio::select! {
            told = heard(self.engine, self.request, &files, Purpose::Explain) => Ok(told),
            cancel = signals.next() => Err(cancel),
        };
        let Heard {
            messages,
            said,
            exit,
        } = match told {
            Ok(told) => told.map_err(End::Failed)?,
            Err(cancel) => {
                self.cancelling(cancel);
                processes::kill_all(KILL_LIMIT);
                return Err(End::Cancelled(cancel));
            }
        };
        for message in messages {
            match message {
                Message::Claim { hosts } if !hosts.is_empty() => return Ok(hosts),
                Message::Refused {
                    text,
                    variables,
                    asks,
                } => {
                    return Err(End::Failed(refused(&text, &variables, asks)));
                }
                _ => {}
            }
        }
        let text = plain(&said);
        if !text.is_empty() {
            self.emit(RunEvent::Output {
                stream: OutputStream::Stderr,
                text,
            });
        }
        self.listeners.count(&RunEvent::Started {
            ansible_version: String::new(),
        });
        let (ending, reason) = self.listeners.progress().ending(
            self.request,
            exit,
            &said,
            &files.project(),
            &self.engine.paths.known_hosts(),
        );
        Err(End::NotStarted(ending, reason))
    }

    fn credential_dir(&self, hooks: &Hooks, files: &RunFiles) -> Result<CredentialDir, Error> {
        let store = self
            .engine
            .store
            .read(|tx| Ok::<_, Error>(tx.owner_id()?))?;
        let dir = CredentialDir::make(&hooks.dir_root, self.id, &store)?;
        files.note_credentials(&CredentialsLeft {
            dir: dir.outer().to_owned(),
            retain: hooks.retain,
            cleanup: hooks.cleanup.as_ref().map(name),
        })?;
        Ok(dir)
    }

    /// The run's playbook, with what prepare has made.
    async fn log_in(
        &mut self,
        dir: &CredentialDir,
        hooks: &Hooks,
        files: &RunFiles,
        claims: &mut HostClaims,
        signals: &mut Signals,
        on_claimed: OnClaimed<'_>,
    ) -> End {
        let access = match dir.access(files, self.engine.env) {
            Ok(access) => access,
            Err(e) => return End::Failed(e),
        };
        if let Some(text) = access.missing {
            self.emit(RunEvent::Warning { text });
        }
        self.listeners.progress_mut().logs_in_with(Credentials {
            until: access.until,
        });
        self.record_event(
            "run.credentials",
            json!({
                "prepare_playbook": name(&hooks.prepare),
                "digest": hooks.prepare.digest,
                "certificate_until": access.until,
            }),
        );
        self.target(files, Some(&access.variables), claims, signals, on_claimed)
            .await
    }
}

/// Of a cleanup.
fn why(end: End) -> String {
    match end {
        End::NotStarted(_, reason) => reason.unwrap_or_else(|| "no reason given".to_owned()),
        End::Cancelled(cancel) => format!("it was cut by {}", cancel.name()),
        End::NotClaimed(why) => why,
        End::Failed(e) => e.to_string(),
        End::Exited(..) => "it ended early".to_owned(),
    }
}
