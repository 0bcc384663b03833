//! One hook, from its start to its end: shown and kept as part of the run, but
//! counted by itself.

use std::fmt;

use super::super::cancel::Signals;
use super::super::claims::HostClaims;
use super::super::files::{RunFiles, Stage};
use super::super::hidden;
use super::super::listeners::Stood;
use super::super::request::RunRequest;
use super::super::start::start;
use super::{End, Execution, KILL_LIMIT, OnClaimed};
use crate::ansible::launch::Purpose;
use crate::ansible::processes;
use crate::domain::run::RunEnding;

/// The hook that Ansible works on.
pub(super) struct Hook {
    stage: Stage,
    /// NAME@VERSION.
    name: String,
    /// What the run's own playbook came to before.
    before: Option<Stood>,
}

impl Hook {
    pub(super) fn new(stage: Stage, name: String) -> Self {
        Hook {
            stage,
            name,
            before: None,
        }
    }
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.stage.word(), self.name)
    }
}

impl Execution<'_, '_> {
    pub(super) async fn hook(
        &mut self,
        mut hook: Hook,
        request: &RunRequest,
        files: &RunFiles,
        claims: &mut HostClaims,
        signals: &mut Signals,
        on_claimed: OnClaimed<'_>,
    ) -> Result<(), End> {
        let files = files.stage(hook.stage).map_err(End::Failed)?;
        let shown = hook.to_string();
        hook.before = Some(self.listeners.count_anew(Stood::default()));
        self.tasks_before = self.last_task;
        self.hook = Some(hook);
        let end = match start(self.engine, request, &files, Purpose::Run, None) {
            Ok(running) => self.follow(running, claims, signals, on_claimed).await,
            Err(e) => Err(End::Failed(e)),
        };
        processes::end_masters(files.control());
        let stood = self.listeners_of_hook();
        let (ending, reason) = stood.progress.ending(
            request,
            end?,
            &stood.said(),
            &files.project(),
            &self.engine.paths.known_hosts(),
        );
        let ending = match ending {
            RunEnding::Success | RunEnding::WouldChange => return Ok(()),
            RunEnding::AnsibleError => ending,
            // Whatever was not reached, it was none of the run's hosts.
            _ => RunEnding::TaskFailed,
        };
        let reason = reason.unwrap_or_else(|| "no reason given".to_owned());
        Err(End::NotStarted(ending, Some(format!("{shown}: {reason}"))))
    }

    /// Back to the run's own count; gives the hook's.
    fn listeners_of_hook(&mut self) -> Stood {
        self.hide_new_key();
        self.tasks_before = self.last_task;
        let before = self.hook.take().and_then(|h| h.before);
        self.listeners.count_anew(before.unwrap_or_default())
    }

    /// The hook took too long: nothing of it goes on.
    pub(super) fn hook_over(&mut self) {
        processes::kill_all(KILL_LIMIT);
        if self.hook.is_some() {
            let _ = self.listeners_of_hook();
        }
    }

    /// A private key is hidden as soon as it is there.
    pub(super) fn hide_new_key(&mut self) {
        let (Some(_), Some(dir)) = (&self.hook, &self.credentials) else {
            return;
        };
        let Some(key) = dir.key_text().filter(|key| !self.keys.contains(key)) else {
            return;
        };
        self.keys.push(key);
        let masker = hidden::masker_with(self.request, self.engine.env, &self.keys);
        self.listeners.hide(masker);
    }
}
