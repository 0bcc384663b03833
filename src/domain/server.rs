//! Servers and their states.

mod edit;

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Serialize;

use crate::domain::cpu::{CpuRange, CpuRangeError};
use crate::domain::name::{Hostname, LoginUser, Place};
use crate::domain::run::RunId;
use crate::domain::time::Timestamp;
use crate::domain::transition::{Change, WrongState, status_enum};

pub use edit::ServerEdit;

status_enum! {
    ServerStatus {
        Registered = "REGISTERED",
        Initializing = "INITIALIZING",
        Ready = "READY",
        InitFail = "INIT_FAIL",
        Decommissioning = "DECOMMISSIONING",
        Decommissioned = "DECOMMISSIONED",
        DecommissionFail = "DECOMMISSION_FAIL",
    }
}

status_enum! {
    /// What the last probe saw; beside the status, never part of it.
    Health {
        Unknown = "UNKNOWN",
        Healthy = "HEALTHY",
        Degraded = "DEGRADED",
        Unreachable = "UNREACHABLE",
    }
}

status_enum! {
    /// Which packages SERVER_INIT installs beside the bootstrap ones.
    Profile {
        Minimal = "minimal",
        Standard = "standard",
        Build = "build",
    }
}

/// What SERVER_INIT found and made on the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct HostFacts {
    pub cpus: Option<u32>,
    pub memory_mb: Option<u64>,
    /// NUMA node by CPU number.
    pub numa: BTreeMap<u32, u32>,
    /// The volume group that carries the compute units' volumes.
    pub vg: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Server {
    pub hostname: Hostname,
    pub private_ip: IpAddr,
    pub public_ip: Option<IpAddr>,
    pub port: u16,
    pub admin_user: LoginUser,
    pub region: Place,
    pub zone: Place,
    pub profile: Profile,
    pub status: ServerStatus,
    pub health: Health,
    /// `--vg`, `--disk`, `--disk-size`, as given.
    pub storage: StorageWish,
    /// Take over a host that carries another store's owner stamp.
    pub adopt: bool,
    pub tags: BTreeMap<String, String>,
    pub facts: HostFacts,
    /// The run that last acted on it, and why it failed if it did.
    pub run_id: Option<RunId>,
    pub status_reason: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Where the operator wants the compute units' volumes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct StorageWish {
    pub vg: Option<String>,
    pub disks: Vec<String>,
    /// GiB for each compute unit; None splits the space evenly.
    pub disk_size_gb: Option<u32>,
}

impl Server {
    /// The public address if there is one, else the private.
    pub fn ansible_host(&self) -> IpAddr {
        self.public_ip.unwrap_or(self.private_ip)
    }

    /// As a reader shows it when the process of its run has died: the next
    /// writing command records the same.
    pub fn as_interrupted(mut self) -> Self {
        let change = self
            .end_init(false)
            .or_else(|_| self.end_decommission(false));
        if let Ok(change) = change {
            self.status = change.to();
            self.status_reason = Some(crate::domain::run::INTERRUPTED.to_owned());
        }
        self
    }

    fn subject(&self) -> String {
        format!("server {}", self.hostname)
    }

    fn wrong(&self, action: &'static str) -> WrongState {
        WrongState::new(action, self.subject(), self.status)
    }

    /// `server init`: also repeats on a READY server, which repairs it, and takes
    /// one back into service that could not be decommissioned.
    pub fn begin_init(&self) -> Result<Change<ServerStatus>, WrongState> {
        match self.status {
            ServerStatus::Registered
            | ServerStatus::InitFail
            | ServerStatus::Ready
            | ServerStatus::DecommissionFail => {
                Ok(Change::new(self.status, ServerStatus::Initializing))
            }
            ServerStatus::Initializing => Err(self.wrong("initialise").hint(format!(
                "another run is at it: `kloigos server show {}` names it",
                self.hostname
            ))),
            ServerStatus::Decommissioned => Err(self.wrong("initialise").hint(format!(
                "`kloigos server recommission {}` takes it back",
                self.hostname
            ))),
            ServerStatus::Decommissioning => Err(self.wrong("initialise")),
        }
    }

    /// Not while a run is at work with what would change.
    pub fn may_edit(&self) -> Result<(), WrongState> {
        match self.status {
            ServerStatus::Initializing | ServerStatus::Decommissioning => {
                Err(self.wrong("edit").hint("wait for its run, or cancel it"))
            }
            _ => Ok(()),
        }
    }

    /// `server recommission`: the same as init, with the units as they were.
    pub fn begin_recommission(&self) -> Result<Change<ServerStatus>, WrongState> {
        match self.status {
            ServerStatus::Decommissioned => {
                Ok(Change::new(self.status, ServerStatus::Initializing))
            }
            _ => Err(self.wrong("recommission").hint(
                "only a DECOMMISSIONED server is; `kloigos server init` repairs a READY one",
            )),
        }
    }

    /// `server decommission`: also again after a failed one, and after an init
    /// that failed half-way.
    pub fn begin_decommission(
        &self,
        live_allocations: usize,
    ) -> Result<Change<ServerStatus>, WrongState> {
        if live_allocations > 0 {
            return Err(self.home_to("decommission", live_allocations));
        }
        match self.status {
            ServerStatus::Ready | ServerStatus::InitFail | ServerStatus::DecommissionFail => {
                Ok(Change::new(self.status, ServerStatus::Decommissioning))
            }
            ServerStatus::Registered | ServerStatus::Decommissioned => {
                Err(self.wrong("decommission").hint(format!(
                    "nothing of Kloigos is on the host: `kloigos server remove {}` forgets it",
                    self.hostname
                )))
            }
            ServerStatus::Initializing | ServerStatus::Decommissioning => {
                Err(self.wrong("decommission").hint(format!(
                    "another run is at it: `kloigos server show {}` names it",
                    self.hostname
                )))
            }
        }
    }

    /// The end of a decommission run, good or bad.
    pub fn end_decommission(&self, succeeded: bool) -> Result<Change<ServerStatus>, WrongState> {
        match self.status {
            ServerStatus::Decommissioning => Ok(Change::new(
                self.status,
                if succeeded {
                    ServerStatus::Decommissioned
                } else {
                    ServerStatus::DecommissionFail
                },
            )),
            _ => Err(self.wrong("end the decommissioning of")),
        }
    }

    fn home_to(&self, action: &'static str, live_allocations: usize) -> WrongState {
        WrongState::new(
            action,
            self.subject(),
            format!("home to {live_allocations} allocation(s)"),
        )
        .hint(format!(
            "list them with `kloigos alloc list --server {}`",
            self.hostname
        ))
    }

    /// The end of an init run, good or bad.
    pub fn end_init(&self, succeeded: bool) -> Result<Change<ServerStatus>, WrongState> {
        match self.status {
            ServerStatus::Initializing => Ok(Change::new(
                self.status,
                if succeeded {
                    ServerStatus::Ready
                } else {
                    ServerStatus::InitFail
                },
            )),
            _ => Err(self.wrong("end the initialisation of")),
        }
    }

    /// Whether the server may be forgotten. `lost`: the operator's word that
    /// the hardware is gone.
    pub fn may_remove(&self, live_allocations: usize, lost: bool) -> Result<(), WrongState> {
        if lost {
            return match self.status {
                ServerStatus::Initializing | ServerStatus::Decommissioning => {
                    Err(self.wrong("remove").hint("wait for its run, or cancel it"))
                }
                _ => Ok(()),
            };
        }
        if live_allocations > 0 {
            return Err(self
                .home_to("remove", live_allocations)
                .hint("if the hardware is gone for good, `--lost` closes them on your word"));
        }
        match self.status {
            ServerStatus::Registered | ServerStatus::InitFail | ServerStatus::Decommissioned => Ok(()),
            ServerStatus::Ready => Err(self.wrong("remove").hint(
                "Kloigos' settings and volumes are still on the host: `kloigos server decommission` takes them away; if the hardware is gone or was wiped, use `--lost`",
            )),
            ServerStatus::DecommissionFail => Err(self.wrong("remove").hint(format!(
                "something of Kloigos is still on the host: `kloigos server decommission {}` goes on; if the hardware is gone or was wiped, use `--lost`",
                self.hostname
            ))),
            ServerStatus::Initializing | ServerStatus::Decommissioning => {
                Err(self.wrong("remove").hint("wait for its run, or cancel it"))
            }
        }
    }
}

/// What `server add` was asked to register, checked as a whole.
#[derive(Debug, Clone)]
pub struct NewServer {
    pub hostname: Hostname,
    pub private_ip: IpAddr,
    pub public_ip: Option<IpAddr>,
    pub port: u16,
    pub admin_user: LoginUser,
    pub region: Place,
    pub zone: Place,
    pub profile: Profile,
    pub compute_units: Vec<CpuRange>,
    pub storage: StorageWish,
    pub adopt: bool,
    pub tags: BTreeMap<String, String>,
}

impl NewServer {
    /// The checks that need more than one field.
    pub fn check(&self) -> Result<(), CpuRangeError> {
        CpuRange::disjoint(&self.compute_units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ServerStatus as S;

    pub(super) fn server(status: S) -> Server {
        Server {
            hostname: Hostname::parse("a").unwrap(),
            private_ip: "10.0.0.1".parse().unwrap(),
            public_ip: None,
            port: 22,
            admin_user: LoginUser::admin("admin").unwrap(),
            region: Place::parse("eu").unwrap(),
            zone: Place::parse("a").unwrap(),
            profile: Profile::Minimal,
            status,
            health: Health::Unknown,
            storage: StorageWish::default(),
            adopt: false,
            tags: BTreeMap::new(),
            facts: HostFacts::default(),
            run_id: None,
            status_reason: None,
            created_at: Timestamp(0),
            updated_at: Timestamp(0),
        }
    }

    #[test]
    fn init_begins_from_rest_only_and_ends_ready_or_failed() {
        let begin: Vec<S> = S::ALL
            .iter()
            .copied()
            .filter(|s| server(*s).begin_init().is_ok())
            .collect();
        assert_eq!(
            begin,
            [S::Registered, S::Ready, S::InitFail, S::DecommissionFail]
        );
        let ended = |ok| server(S::Initializing).end_init(ok).unwrap().to();
        assert_eq!((ended(true), ended(false)), (S::Ready, S::InitFail));
        assert!(server(S::Ready).end_init(false).is_err());
        assert_eq!(server(S::Initializing).as_interrupted().status, S::InitFail);
    }

    #[test]
    fn a_decommission_begins_where_something_may_be_on_the_host_and_nobody_lives() {
        let begin: Vec<S> = S::ALL
            .iter()
            .copied()
            .filter(|s| server(*s).begin_decommission(0).is_ok())
            .collect();
        assert_eq!(begin, [S::Ready, S::InitFail, S::DecommissionFail]);
        assert!(server(S::Ready).begin_decommission(1).is_err());
        let ended = |ok| {
            server(S::Decommissioning)
                .end_decommission(ok)
                .unwrap()
                .to()
        };
        assert_eq!(
            (ended(true), ended(false)),
            (S::Decommissioned, S::DecommissionFail)
        );
        let back: Vec<S> = S::ALL
            .iter()
            .copied()
            .filter(|s| server(*s).begin_recommission().is_ok())
            .collect();
        assert_eq!(back, [S::Decommissioned]);
    }

    #[test]
    fn a_server_is_forgotten_only_when_nothing_of_it_is_left_or_it_is_lost() {
        let may: Vec<S> = S::ALL
            .iter()
            .copied()
            .filter(|s| server(*s).may_remove(0, false).is_ok())
            .collect();
        assert_eq!(may, [S::Registered, S::InitFail, S::Decommissioned]);
        assert!(server(S::Registered).may_remove(1, false).is_err());
        assert!(server(S::Ready).may_remove(3, true).is_ok());
        assert!(server(S::Initializing).may_remove(0, true).is_err());
    }
}
