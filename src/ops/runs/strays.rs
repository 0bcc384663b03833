//! What a run that was cut short has left at work.

use super::start::{Given, Order, request};
use super::{find, now_is};
use crate::domain::request::Asked;
use crate::domain::run::{RunId, RunStatus, Wait};
use crate::domain::vault::{VaultId, VaultSource};
use crate::error::{Error, Kind};
use crate::ops::secrets::SecretAsk;
use crate::ops::{Services, lifecycle};
use crate::runner;

pub use crate::runner::{Look, Stray};

/// Asks each host of the run, over SSH, outside claims; nothing is changed
/// there or here.
pub fn strays(services: &Services<'_>, id: RunId) -> Result<Vec<Look>, Error> {
    let run = now_is(services, id)?;
    if run.status.is_live() {
        return Err(Error::new(
            Kind::WrongState,
            format!("run {id} is {}: all that is at work is its own", run.status),
        ));
    }
    let (hosts, run) = services.store.read(|tx| {
        let hosts = tx.runs().hosts(id)?;
        let hosts: Vec<String> = hosts.into_iter().map(|h| h.host).collect();
        Ok::<_, Error>((hosts, find(tx, id)?))
    })?;
    let Some(started_at) = run.started_at.filter(|_| !hosts.is_empty()) else {
        return Ok(Vec::new());
    };
    let mut asked: Asked = match run.lifecycle {
        None => serde_json::from_value(run.request.clone()).unwrap_or_default(),
        // Its hosts are registered servers.
        Some(_) => Asked {
            hosts: hosts.clone(),
            ..Asked::default()
        },
    };
    // Nobody is asked for a password here.
    asked.vault_ids.retain(|id| {
        let parsed: Option<VaultId> = id.parse().ok();
        parsed.is_some_and(|id| id.source != VaultSource::Prompt)
    });
    asked.become_password_file = None;
    let order = Order {
        playbook: run.playbook.clone(),
        version: Some(run.version),
        asked,
        secrets: SecretAsk::default(),
        wait: Wait::No,
        verbosity: 0,
    };
    let given = Given::read(services, &order)?;
    let request = services.store.read(|tx| request(tx, &order, &given))?;
    let engine = lifecycle::engine(*services)?;
    let now = services.clock.now();
    let ended_ago = match run.status {
        RunStatus::Interrupted | RunStatus::Queued | RunStatus::Running => 0,
        _ => run.ended_at.map_or(0, |at| now.since(at).as_secs()),
    };
    let started_ago = now.since(started_at).as_secs();
    let mut looks = runner::look_for_strays(&engine, request, &hosts, started_ago, ended_ago)?;
    if run.request.get("ssh_credential_hook").is_some() {
        for why in looks.iter_mut().filter_map(|l| l.not_asked.as_mut()) {
            why.push_str(" (the run logged in with credentials of its own, which are gone; this login is yours)");
        }
    }
    Ok(looks)
}
