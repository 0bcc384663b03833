//! Getting the hosts of a run: those that are known before, and those that
//! Ansible asks for.

use std::time::{Duration, Instant};

use tokio::net::UnixStream;

use super::super::cancel::Signals;
use super::super::claims::{Attempt, HostClaims, HostKey, Line};
use super::{End, Execution, OnClaimed, POLL};
use crate::ansible::events::PlayHost;
use crate::ansible::launch;
use crate::domain::run::{RunId, Wait};
use crate::domain::run_event::{RunEvent, RunHost, WaitsFor};
use crate::error::{Error, Kind};

/// A run that has waited for long looks less often: a long line must not cost
/// the machine more than the run at its head.
const SLOWEST_POLL: Duration = Duration::from_secs(1);

impl Execution<'_, '_> {
    pub(super) fn known_keys(&self) -> Result<Vec<HostKey>, Error> {
        let targets = self.request.targets.servers();
        let only = &self.request.options.only_hosts;
        let wanted = |host: &str| only.is_empty() || only.iter().any(|o| o == host);
        self.engine.store.read(|tx| {
            let mut keys = Vec::new();
            for target in targets.iter().filter(|t| wanted(t.hostname.as_str())) {
                if let Some(server) = tx.servers().get(&target.hostname)? {
                    keys.push(HostKey::of_server(&server));
                }
            }
            Ok(keys)
        })
    }

    /// Waits in line until `held` has all of `wanted` too.
    pub(super) async fn claim(
        &mut self,
        wanted: Vec<HostKey>,
        held: &mut HostClaims,
        signals: &mut Signals,
        child: Option<&mut tokio::process::Child>,
    ) -> Result<(), End> {
        let line = Line {
            store: self.engine.store,
            paths: self.engine.paths,
            run: self.id,
            slots: self.engine.slots,
        };
        line.enqueue(&wanted).map_err(End::Failed)?;
        let limit = match self.request.wait {
            Wait::Setting => self.engine.host_wait,
            Wait::For(limit) => limit,
            Wait::No => Duration::ZERO,
        };
        let since = Instant::now();
        let mut told: Vec<WaitsFor> = Vec::new();
        let mut child = child;
        loop {
            let (waits, next) = match line.attempt(&wanted, held).map_err(End::Failed)? {
                Attempt::Had(had) => {
                    self.engine
                        .store
                        .write(|tx| Ok(tx.claims().hold(self.id)?))
                        .map_err(End::Failed)?;
                    held.join(had);
                    return Ok(());
                }
                Attempt::Waits { waits_for, next } => (waits_for, next),
                Attempt::Deadlock(other) => {
                    return Err(End::NotClaimed(format!(
                        "{}, which itself waits for this run; run this one again when that one is over",
                        wait_text(&other)
                    )));
                }
            };
            if since.elapsed() >= limit {
                let whom = waits.first().map_or_else(String::new, wait_text);
                return Err(End::NotClaimed(format!(
                    "{whom} (waited {} s)",
                    since.elapsed().as_secs()
                )));
            }
            if waits != told {
                told.clone_from(&waits);
                self.emit(RunEvent::Queued { waits_for: waits });
            }
            // The next one looks often; further back that would cost more than
            // it gains.
            let pause = if next {
                POLL
            } else {
                (since.elapsed() / 10).clamp(POLL, SLOWEST_POLL)
            };
            let died = async {
                match child.as_deref_mut() {
                    Some(child) => child.wait().await.ok(),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => self.listeners.tick(),
                cancel = signals.next() => {
                    self.cancelling(cancel);
                    return Err(End::Cancelled(cancel));
                }
                status = died => {
                    let code = status.and_then(|s| s.code());
                    return Err(End::Failed(Error::new(
                        Kind::Local,
                        format!("ansible-playbook ended while the run waited for its hosts ({})", code.map_or("killed".into(), |c| format!("code {c}"))),
                    )));
                }
            }
        }
    }

    /// Claims hosts that Ansible has told; the run is running then.
    pub(super) async fn claim_hosts(
        &mut self,
        hosts: &[PlayHost],
        claims: &mut HostClaims,
        signals: &mut Signals,
        child: Option<&mut tokio::process::Child>,
        on_claimed: OnClaimed<'_>,
    ) -> Result<(), End> {
        let servers = self
            .engine
            .store
            .read(|tx| Ok::<_, Error>(tx.servers().list()?))
            .map_err(End::Failed)?;
        let wanted: Vec<HostKey> = hosts
            .iter()
            .filter_map(|h| HostKey::of_host(h, &servers))
            .filter(|k| !claims.covers(k))
            .collect();
        let named: Vec<&str> = wanted
            .iter()
            .filter(|k| k.by_name)
            .map(|k| k.shown.as_str())
            .collect();
        if !named.is_empty() && !self.said_by_name {
            self.said_by_name = true;
            let more = match named.len() {
                0..=3 => String::new(),
                n => format!(" and {} more", n - 3),
            };
            let text = format!(
                "no address is known of {}{more}: locked by name only, so that a run by another name of the same machine would not wait (`ansible_host` gives the address)",
                named[..named.len().min(3)].join(", ")
            );
            self.emit(RunEvent::Warning { text });
        }
        self.claim(wanted, claims, signals, child).await?;
        self.begin(on_claimed).map_err(End::Failed)?;
        self.warn_of_cut_runs(hosts).map_err(End::Failed)?;
        let own = hosts.iter().filter(|h| !h.delegate);
        if own.clone().count() > 0 || hosts.is_empty() {
            let event = RunEvent::Claimed {
                hosts: own
                    .map(|h| RunHost {
                        name: h.name.clone(),
                        address: h.reached_at().to_owned(),
                        port: h.port,
                    })
                    .collect(),
            };
            match self.hook {
                // A hook's are not the run's.
                Some(_) => self.listeners.count(&event),
                None => self.emit(event),
            }
        }
        Ok(())
    }

    /// A task that was sent to a host runs there to its end, also after a
    /// cancel: it may still be at work beside this run.
    fn warn_of_cut_runs(&mut self, hosts: &[PlayHost]) -> Result<(), Error> {
        let id = self.id;
        let cut = self.engine.store.read(|tx| {
            let mut cut: Vec<(RunId, String)> = Vec::new();
            for host in hosts.iter().filter(|h| !h.is_local()) {
                if let Some(run) = tx.runs().cut_before(id, &host.name)?
                    && !cut.iter().any(|(known, _)| *known == run)
                {
                    cut.push((run, host.name.clone()));
                }
            }
            Ok::<_, Error>(cut)
        })?;
        for (run, host) in cut {
            if !self.said_cut.insert(run) {
                continue;
            }
            self.emit(RunEvent::Warning {
                text: format!(
                    "run {run} was cut short on {host}, and its task may still be at work there: `kloigos runs show {run} --probe` asks"
                ),
            });
        }
        Ok(())
    }

    /// Claims the hosts that Ansible asks for, then lets it go on.
    pub(super) async fn grant(
        &mut self,
        hosts: &[PlayHost],
        claims: &mut HostClaims,
        signals: &mut Signals,
        child: &mut tokio::process::Child,
        channel: &UnixStream,
        on_claimed: OnClaimed<'_>,
    ) -> Result<(), End> {
        self.claim_hosts(hosts, claims, signals, Some(child), on_claimed)
            .await?;
        launch::answer_go(channel, &claims.descriptors()).map_err(|e| {
            End::Failed(Error::new(
                Kind::Local,
                format!("Ansible does not listen any more: {e}"),
            ))
        })
    }
}

fn wait_text(waits: &WaitsFor) -> String {
    let what = match &waits.host {
        Some(host) => format!("host {host} is held"),
        None => "all slots are taken (setting runs.max_concurrent)".to_owned(),
    };
    match (&waits.run, &waits.requester, waits.since) {
        (Some(run), Some(who), Some(since)) => {
            format!(
                "{what} by run {run}, started by {}@{} at {since}",
                who.user, who.host
            )
        }
        _ if waits.host.is_some() => {
            format!("{what} by Ansible of a run whose kloigos was killed")
        }
        _ => what,
    }
}
