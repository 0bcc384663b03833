//! What a run would do, told by Ansible itself, which ends before the first
//! task: plays and hosts. No host is touched and nothing is recorded.

use serde::Serialize;

use super::check::scratch;
use super::claims::HostKey;
use super::credentials::check_logins;
use super::engine::Engine;
use super::listen::{Heard, listen};
use super::progress::{Exit, Progress};
use super::request::RunRequest;
use super::{hidden, liveness};
use crate::ansible::events::{Message, PlayHost};
use crate::ansible::launch::Purpose;
use crate::domain::run::{Requester, RunEnding, RunId};
use crate::domain::run_event::RunEvent;
use crate::domain::text::plain;
use crate::domain::time::Timestamp;
use crate::error::{Error, Kind};

#[derive(Debug, Default)]
pub struct Explained {
    pub plays: Vec<ExplainedPlay>,
    /// Delegates that are known beforehand among them.
    pub hosts: Vec<ExplainedHost>,
    pub warnings: Vec<String>,
    /// Why the run would not be done.
    pub refusals: Vec<Error>,
}

#[derive(Debug, Clone, Serialize)]
pub struct ExplainedPlay {
    pub name: String,
    pub pattern: String,
    pub hosts: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct ExplainedHost {
    pub name: String,
    pub address: String,
    pub port: Option<u16>,
    pub connection: String,
    /// Only worked on in place of another.
    pub delegate: bool,
    /// What is locked for it; None for this machine itself.
    pub claim: Option<String>,
    /// Runs that have it or stand in line for it, the next one first.
    pub held_by: Vec<Holder>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Holder {
    pub run: RunId,
    pub requester: Requester,
    pub since: Timestamp,
    /// False: it waits in line.
    pub holds: bool,
}

pub fn explain(engine: &Engine<'_>, request: &RunRequest) -> Result<Explained, Error> {
    let (_dir, files) = scratch(engine.paths)?;
    let masker = hidden::masker(request, engine.env);
    let Heard {
        messages,
        said,
        exit,
    } = listen(engine, request, &files, Purpose::Explain)?;
    let said = masker.text(&said).into_owned();
    let mut explained = Explained::default();
    let mut hosts: Option<Vec<PlayHost>> = None;
    for message in messages {
        match message {
            Message::Play {
                name,
                pattern,
                hosts,
            } => explained.plays.push(ExplainedPlay {
                name: masker.text(&plain(&name)).into_owned(),
                pattern: masker.text(&pattern).into_owned(),
                hosts,
            }),
            Message::Claim { hosts: told } => hosts = Some(told),
            Message::Refused {
                text,
                variables,
                asks,
            } => {
                explained
                    .refusals
                    .push(super::execute::refused(&text, &variables, asks));
            }
            Message::Warning { text } => explained.warnings.push(masker.text(&text).into_owned()),
            _ => {}
        }
    }
    match hosts {
        Some(hosts) if !hosts.is_empty() => {
            if request.hooks.is_some()
                && let Err(e) = check_logins(&hosts)
            {
                explained.refusals.push(e);
            }
            explained.hosts = claims(engine, hosts)?;
        }
        _ => explained
            .refusals
            .push(not_done(engine, request, exit, &said, &files.project())),
    }
    Ok(explained)
}

/// The end that a run without hosts would have.
fn not_done(
    engine: &Engine<'_>,
    request: &RunRequest,
    exit: Exit,
    said: &str,
    workdir: &std::path::Path,
) -> Error {
    let mut progress = Progress::default();
    progress.observe(
        engine.clock.now(),
        &RunEvent::Started {
            ansible_version: String::new(),
        },
    );
    let known_hosts = engine.paths.known_hosts();
    let (ending, reason) = progress.ending(request, exit, said, workdir, &known_hosts);
    let error = Error::new(Kind::Run(ending), reason.unwrap_or_default());
    match progress.hint(request, ending, &known_hosts) {
        Some(hint) if ending == RunEnding::NoHosts => error.hint(hint),
        _ => error,
    }
}

fn claims(engine: &Engine<'_>, hosts: Vec<PlayHost>) -> Result<Vec<ExplainedHost>, Error> {
    let servers = engine
        .store
        .read(|tx| Ok::<_, Error>(tx.servers().list()?))?;
    hosts
        .into_iter()
        .map(|host| {
            let key = HostKey::of_host(&host, &servers);
            let held_by = match &key {
                Some(key) => holders(engine, key)?,
                None => Vec::new(),
            };
            Ok(ExplainedHost {
                address: host.reached_at().to_owned(),
                port: host.port,
                connection: host.connection,
                delegate: host.delegate,
                name: host.name,
                claim: key.map(|k| match k.by_name {
                    true => format!("{}, by name only", k.shown),
                    false => k.shown,
                }),
                held_by,
            })
        })
        .collect()
}

fn holders(engine: &Engine<'_>, key: &HostKey) -> Result<Vec<Holder>, Error> {
    let tickets = engine
        .store
        .read(|tx| Ok::<_, Error>(tx.claims().on(key.key())?))?;
    let mut holders = Vec::new();
    for ticket in tickets {
        if liveness::is_alive(engine.paths, ticket.run)? {
            holders.push(Holder {
                run: ticket.run,
                requester: ticket.requester,
                since: ticket.since,
                holds: ticket.held,
            });
        }
    }
    Ok(holders)
}
