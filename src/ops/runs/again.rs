//! The same run again, on all of its hosts or on those that are left.

use std::collections::BTreeSet;

use super::start::{Order, refuse_lifecycle, start};
use super::{now_is, stored};
use crate::domain::report::{Report, Reporter};
use crate::domain::request::{Again, Asked};
use crate::domain::run::{Run, RunEnding, RunId, RunOutcome, Wait};
use crate::domain::run_event::{HostCounts, TaskNo};
use crate::domain::vault::{VaultId, VaultSource};
use crate::error::{Error, Kind};
use crate::ops::secrets::SecretAsk;
use crate::ops::{Services, playbooks};
use crate::store::Tx;

/// What is of this time and not of the run that is repeated.
pub struct AgainAsk {
    pub run: RunId,
    /// At least what [`not_kept`] names.
    pub secrets: SecretAsk,
    pub wait: Wait,
    pub verbosity: u8,
}

/// What the run was given and the history does not have.
pub struct NotKept {
    pub secrets: Vec<String>,
    pub become_password: bool,
    /// Those that ask for their password.
    pub vault_ids: Vec<VaultId>,
}

pub fn not_kept(services: &Services<'_>, id: RunId) -> Result<NotKept, Error> {
    let asked = asked(&now_is(services, id)?)?;
    let vault_ids = asked.vault_ids.iter().filter_map(|id| id.parse().ok());
    Ok(NotKept {
        secrets: asked.secrets,
        become_password: asked.ask_become_pass,
        vault_ids: vault_ids
            .filter(|id: &VaultId| id.source == VaultSource::Prompt)
            .collect(),
    })
}

/// The same version, inventory, hosts, options and variables.
pub fn rerun(
    services: &Services<'_>,
    ask: AgainAsk,
    reporter: &mut dyn Reporter,
) -> Result<RunOutcome, Error> {
    let run = now_is(services, ask.run)?;
    let asked = asked(&run)?;
    repeat(services, ask, &run, asked, Again::RerunOf, reporter)
}

/// The same on the hosts that failed, were unreachable, or were not reached.
pub fn retry(
    services: &Services<'_>,
    ask: AgainAsk,
    reporter: &mut dyn Reporter,
) -> Result<RunOutcome, Error> {
    let run = now_is(services, ask.run)?;
    let mut asked = asked(&run)?;
    let Some(ending) = run.ending else {
        return Err(Error::new(
            Kind::WrongState,
            format!("cannot retry run {}: it is still {}", run.id, run.status),
        )
        .hint(format!(
            "`kloigos runs follow {}` waits for its end",
            run.id
        )));
    };
    let hosts = services.store.read(|tx| tx.runs().hosts(run.id))?;
    let left = left(ending, &hosts);
    let nothing_was_begun = hosts.is_empty() && ending.is_failure();
    if left.is_empty() && !nothing_was_begun {
        return Err(Error::new(
            Kind::WrongState,
            format!(
                "nothing is left to retry: run {} ended well on all of its hosts",
                run.id
            ),
        )
        .hint(format!("`kloigos runs rerun {}` does it all again", run.id)));
    }
    if !left.is_empty() {
        reporter.report(&Report::Note(format!(
            "of run {}, {} of {} hosts are left: {}",
            run.id,
            left.len(),
            hosts.len(),
            some_of(&left)
        )));
        asked.only_hosts = left;
        for maker in services.store.read(|tx| makers(tx, run.id))? {
            if !asked.only_hosts.contains(&maker) {
                asked.only_hosts.push(maker);
            }
        }
    }
    repeat(services, ask, &run, asked, Again::RetryOf, reporter)
}

fn some_of(hosts: &[String]) -> String {
    match hosts.len() {
        0..=5 => hosts.join(", "),
        n => format!("{} and {} more", hosts[..5].join(", "), n - 5),
    }
}

/// Hosts on which the run has not done its work. Without Ansible's recap (it
/// was cancelled or killed) that is not known of any.
fn left(ending: RunEnding, hosts: &[HostCounts]) -> Vec<String> {
    let left = |h: &&HostCounts| {
        let never_reached = **h == HostCounts::named(&h.host);
        h.failed > 0
            || h.unreachable > 0
            || (ending.is_failure() && (never_reached || !ending.has_recap()))
    };
    hosts.iter().filter(left).map(|h| h.host.clone()).collect()
}

/// Hosts on which the run added others to its inventory: without them those
/// would not be there to be retried.
fn makers(tx: &Tx<'_>, id: RunId) -> Result<BTreeSet<String>, Error> {
    let tasks = tx.runs().tasks(id)?;
    let adding: Vec<TaskNo> = tasks
        .iter()
        .filter(|t| t.action.rsplit('.').next() == Some("add_host"))
        .map(|t| t.task)
        .collect();
    if adding.is_empty() {
        return Ok(BTreeSet::new());
    }
    let results = tx.runs().results(id)?.into_iter();
    Ok(results
        .filter(|r| adding.contains(&r.task))
        .map(|r| r.host)
        .collect())
}

/// What may be asked again.
fn asked(run: &Run) -> Result<Asked, Error> {
    refuse_lifecycle(&run.playbook, run.check)?;
    serde_json::from_value(run.request.clone()).map_err(|e| {
        Error::new(
            Kind::WrongState,
            format!("cannot tell what run {} was asked: {e}", run.id),
        )
    })
}

fn repeat(
    services: &Services<'_>,
    ask: AgainAsk,
    run: &Run,
    mut asked: Asked,
    how: fn(RunId) -> Again,
    reporter: &mut dyn Reporter,
) -> Result<RunOutcome, Error> {
    // Relative paths mean what they meant then.
    asked.cwd.get_or_insert_with(|| services.env.cwd.clone());
    asked.again = Some(how(run.id));
    let version = services
        .store
        .read(|tx| playbooks::find(tx, &run.playbook, Some(run.version)))?;
    if version.digest != run.digest {
        return Err(Error::new(
            Kind::WrongState,
            format!(
                "cannot repeat run {}: {}@{} is not what it ran",
                run.id, run.playbook, run.version
            ),
        ));
    }
    let order = Order {
        playbook: run.playbook.clone(),
        version: Some(run.version),
        asked,
        secrets: ask.secrets,
        wait: ask.wait,
        verbosity: ask.verbosity,
    };
    start(services, order, reporter).map_err(|e| match e.kind {
        Kind::Usage => e.hint(stored(run.id)),
        _ => e,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_depends_on_the_recap() {
        let host = |name: &str, ok, failed, unreachable| HostCounts {
            ok,
            failed,
            unreachable,
            ..HostCounts::named(name)
        };
        let hosts = [
            host("done", 2, 0, 0),
            host("broken", 1, 1, 0),
            host("away", 0, 0, 1),
            host("behind", 0, 0, 0),
        ];
        for (ending, expected) in [
            (RunEnding::TaskFailed, &["broken", "away", "behind"][..]),
            (
                RunEnding::Interrupted,
                &["done", "broken", "away", "behind"],
            ),
            (
                RunEnding::CancelledInt,
                &["done", "broken", "away", "behind"],
            ),
        ] {
            assert_eq!(left(ending, &hosts), expected, "{ending}");
        }
        assert!(left(RunEnding::Success, &[host("idle", 0, 0, 0)]).is_empty());
    }
}
