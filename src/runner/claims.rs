//! A run's exclusive hold on its hosts while it lives.
//!
//! One kernel file lock a host, in `locks/`; all or nothing; first come, first
//! served among runs that share a host. Lock files are never unlinked: an
//! unlinked one could be held by one process while another locks its
//! successor. A slot limits how many runs execute at once.

use std::collections::{BTreeSet, HashMap};
use std::fs::{File, TryLockError};
use std::net::{IpAddr, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};

use sha2::{Digest, Sha256};

use super::liveness;
use super::waiting::{Place, Waiting};
use crate::ansible::events::PlayHost;
use crate::domain::run::RunId;
use crate::domain::run_event::WaitsFor;
use crate::domain::server::Server;
use crate::error::Error;
use crate::fs::{self, FsError};
use crate::paths::Paths;
use crate::store::claims::Ahead;
use crate::store::{Store, Tx};

/// What a claim is on: one machine, however it is spelled.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostKey {
    key: String,
    /// As the user knows it.
    pub shown: String,
    /// True when only the name told the machine: an alias would not be seen.
    pub by_name: bool,
}

impl HostKey {
    /// The same for all aliases of one machine.
    pub fn key(&self) -> &str {
        &self.key
    }

    pub fn of_server(server: &Server) -> Self {
        HostKey {
            key: format!("server-{}", server.hostname),
            shown: server.hostname.to_string(),
            by_name: false,
        }
    }

    /// None for the machine that kloigos itself runs on, reached locally:
    /// hooks and `add_host` plays of all runs would wait for each other.
    pub fn of_host(host: &PlayHost, servers: &[Server]) -> Option<Self> {
        let local = host.is_local();
        if local && (host.implicit || host.name == "localhost") {
            return None;
        }
        if local {
            // Its name is all that there is: nothing to warn of.
            return Some(HostKey {
                by_name: false,
                ..Self::by_name(&host.name)
            });
        }
        let port = host.port.unwrap_or(22);
        let bare = host.address.trim_start_matches('[').trim_end_matches(']');
        let addresses: Vec<IpAddr> = match bare.parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_) => (bare, port)
                .to_socket_addrs()
                .map(|found| found.map(|a| a.ip()).collect())
                .unwrap_or_default(),
        };
        let addresses: Vec<IpAddr> = addresses.into_iter().map(|a| a.to_canonical()).collect();
        if let Some(server) = registered(&addresses, port, servers) {
            return Some(Self::of_server(server));
        }
        // The lowest address, so that the order of answers does not matter.
        match addresses.iter().min() {
            Some(address) => Some(HostKey {
                key: format!("address-{address}-{port}"),
                shown: host.name.clone(),
                by_name: false,
            }),
            None => Some(Self::by_name(&host.name)),
        }
    }

    fn by_name(name: &str) -> Self {
        HostKey {
            key: format!("name-{}", name.to_lowercase()),
            shown: name.to_owned(),
            by_name: true,
        }
    }

    /// The lock file's name: the key where it is a plain one, else its hash.
    fn file_name(&self) -> String {
        let plain = self.key.len() <= 120
            && self
                .key
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b':'));
        if plain {
            return format!("host-{}", self.key);
        }
        let hash = Sha256::digest(&self.key);
        let hex: String = hash.iter().map(|b| format!("{b:02x}")).collect();
        format!("host-sha256-{hex}")
    }
}

/// The server of which either address is among these. Behind one address
/// (forwarded ports) the port tells them apart.
fn registered<'s>(addresses: &[IpAddr], port: u16, servers: &'s [Server]) -> Option<&'s Server> {
    let matching: Vec<&Server> = servers
        .iter()
        .filter(|s| {
            addresses
                .iter()
                .any(|a| *a == s.private_ip || Some(*a) == s.public_ip)
        })
        .collect();
    match matching.as_slice() {
        [one] => Some(one),
        many => many.iter().find(|s| s.port == port).copied(),
    }
}

/// Locks on hosts, and a slot. Executing takes it as an argument; dropping it
/// frees the hosts, unless Ansible still lives and keeps its copies.
#[derive(Debug, Default)]
pub struct HostClaims {
    keys: Vec<HostKey>,
    locks: Vec<File>,
    slot: Option<File>,
}

impl HostClaims {
    pub fn covers(&self, key: &HostKey) -> bool {
        self.keys.iter().any(|k| k.key == key.key)
    }

    /// The descriptors, for the child to keep copies of.
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.locks.iter().map(AsFd::as_fd).collect()
    }

    /// Adds what was had.
    pub(super) fn join(&mut self, other: HostClaims) {
        self.keys.extend(other.keys);
        self.locks.extend(other.locks);
        self.slot = self.slot.take().or(other.slot);
    }
}

/// One try to have all hosts of `wanted`, for a run that stands in line for
/// them.
pub(super) enum Attempt {
    Had(HostClaims),
    Waits {
        waits_for: Vec<WaitsFor>,
        /// Nobody else stands before this run.
        next: bool,
    },
    /// Waiting here could never end: the run named waits for this one.
    Deadlock(WaitsFor),
}

pub(super) struct Line<'a> {
    pub(super) store: &'a Store,
    pub(super) paths: &'a Paths,
    pub(super) run: RunId,
    pub(super) slots: u32,
}

impl Line<'_> {
    pub(super) fn enqueue(&self, wanted: &[HostKey]) -> Result<(), Error> {
        let rows: Vec<(String, String)> = wanted
            .iter()
            .map(|k| (k.key.clone(), k.shown.clone()))
            .collect();
        self.store
            .write(|tx| Ok(tx.claims().enqueue(self.run, &rows)?))
    }

    /// `held`: what the run has already.
    pub(super) fn attempt(&self, wanted: &[HostKey], held: &HostClaims) -> Result<Attempt, Error> {
        let overtaken = if held.keys.is_empty() {
            BTreeSet::new()
        } else {
            match self.more(wanted)? {
                More::Overtakes(runs) => runs,
                More::Deadlock(waits) => return Ok(Attempt::Deadlock(waits)),
            }
        };
        let ahead = self.ahead(&overtaken)?;
        if !ahead.is_empty() {
            self.leave_slot_line()?;
            return Ok(Attempt::Waits {
                next: ahead.iter().all(|t| t.held),
                waits_for: ahead.iter().map(waits).collect(),
            });
        }
        let mut had = HostClaims::default();
        let mut keys: Vec<&HostKey> = wanted.iter().filter(|k| !held.covers(k)).collect();
        keys.sort();
        keys.dedup();
        for key in keys {
            match self.lock(&key.file_name())? {
                Some(file) => {
                    had.locks.push(file);
                    had.keys.push(key.clone());
                }
                // Nobody alive has it by the tickets: Ansible of a run that was
                // killed is still at work there.
                None => {
                    self.leave_slot_line()?;
                    return Ok(Attempt::Waits {
                        next: true,
                        waits_for: vec![WaitsFor {
                            host: Some(key.shown.clone()),
                            run: None,
                            requester: None,
                            since: None,
                        }],
                    });
                }
            }
        }
        if held.slot.is_none() {
            let first = self.first_for_slot()?;
            had.slot = if first { self.slot()? } else { None };
            if had.slot.is_none() {
                self.store
                    .write(|tx| Ok::<_, Error>(tx.claims().enqueue_for_slot(self.run)?))?;
                return Ok(Attempt::Waits {
                    next: first,
                    waits_for: vec![for_slot()],
                });
            }
        }
        Ok(Attempt::Had(had))
    }

    /// What it means that a run which has hosts asks for more.
    fn more(&self, wanted: &[HostKey]) -> Result<More, Error> {
        let line = self.store.read(|tx| Ok::<_, Error>(tx.claims().line()?))?;
        let mut alive: HashMap<RunId, bool> = HashMap::new();
        let mut places = Vec::new();
        for (host, run, held) in line {
            let lives = match alive.get(&run) {
                Some(lives) => *lives,
                None => {
                    let lives = run == self.run || liveness::is_alive(self.paths, run)?;
                    alive.insert(run, lives);
                    lives
                }
            };
            if lives {
                places.push(Place { host, run, held });
            }
        }
        let waiting = Waiting::of(&places);
        if !waiting.must_give_way(self.run) {
            return Ok(More::Overtakes(waiting.overtaken_by(self.run)));
        }
        // Free again before the line was looked at: then there is no circle.
        let holders = self.ahead(&BTreeSet::new())?;
        Ok(holders
            .iter()
            .find(|t| t.held && wanted.iter().any(|k| k.key == t.host_key))
            .map_or_else(
                || More::Overtakes(BTreeSet::new()),
                |t| More::Deadlock(waits(t)),
            ))
    }

    /// For each host, the nearest ticket before this run's whose run lives:
    /// the holder if there is one, else the oldest that waits. Further ones
    /// are not probed; with many in line that would cost more than the runs.
    fn ahead(&self, overtaken: &BTreeSet<RunId>) -> Result<Vec<Ahead>, Error> {
        let mut all = self
            .store
            .read(|tx| Ok::<_, Error>(tx.claims().ahead(self.run)?))?;
        all.retain(|t| t.held || !overtaken.contains(&t.run));
        all.sort_by_key(|t| !t.held);
        let mut nearest: Vec<Ahead> = Vec::new();
        for ticket in all {
            let known = nearest.iter().any(|n| n.host_key == ticket.host_key);
            if !known && liveness::is_alive(self.paths, ticket.run)? {
                nearest.push(ticket);
            }
        }
        Ok(nearest)
    }

    /// Slots go by turns too: a run that has waited for long looks less often
    /// and would never be quick enough.
    fn first_for_slot(&self) -> Result<bool, Error> {
        for run in self
            .store
            .read(|tx| Ok::<_, Error>(tx.claims().slot_line()?))?
        {
            if run == self.run {
                return Ok(true);
            }
            if liveness::is_alive(self.paths, run)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn leave_slot_line(&self) -> Result<(), Error> {
        let stands = self
            .store
            .read(|tx| Ok::<_, Error>(tx.claims().slot_line()?))?
            .contains(&self.run);
        if stands {
            self.store
                .write(|tx| Ok::<_, Error>(tx.claims().leave_slot_line(self.run)?))?;
        }
        Ok(())
    }

    fn lock(&self, name: &str) -> Result<Option<File>, Error> {
        let dir = self.paths.locks();
        fs::create_private_dir(&dir).map_err(Error::store)?;
        let path = dir.join(name);
        let file = fs::open_lock_file(&path).map_err(Error::store)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(e)) => Err(Error::store(FsError::of("lock", &path)(e))),
        }
    }

    fn slot(&self) -> Result<Option<File>, Error> {
        for number in 0..self.slots {
            if let Some(file) = self.lock(&format!("slot-{number}"))? {
                return Ok(Some(file));
            }
        }
        Ok(None)
    }
}

/// What a run that has hosts already may do about more.
enum More {
    /// These stand before it, but cannot go on before it ends.
    Overtakes(BTreeSet<RunId>),
    Deadlock(WaitsFor),
}

fn for_slot() -> WaitsFor {
    WaitsFor {
        host: None,
        run: None,
        requester: None,
        since: None,
    }
}

fn waits(ticket: &Ahead) -> WaitsFor {
    WaitsFor {
        host: Some(ticket.host_name.clone()),
        run: Some(ticket.run),
        requester: Some(ticket.requester.clone()),
        since: Some(ticket.since),
    }
}

/// Whom a queued run waits for, by the tickets.
pub fn waits_for(tx: &Tx<'_>, run: RunId) -> Result<Vec<WaitsFor>, Error> {
    let mut all: Vec<WaitsFor> = tx.claims().ahead(run)?.iter().map(waits).collect();
    if all.is_empty() && tx.claims().slot_line()?.contains(&run) {
        all.push(for_slot());
    }
    Ok(all)
}
