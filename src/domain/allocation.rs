//! Allocations: the durable identity of a workload, and its states.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Serialize;

use crate::domain::name::{AllocationId, ComputeUnitId, Hostname, LoginUser};
use crate::domain::run::RunId;
use crate::domain::time::Timestamp;
use crate::domain::transition::{Change, WrongState, status_enum};

status_enum! {
    AllocationStatus {
        /// A create that still waits for its claim.
        Requested = "REQUESTED",
        Allocating = "ALLOCATING",
        Allocated = "ALLOCATED",
        AllocationFail = "ALLOCATION_FAIL",
        Scaling = "SCALING",
        ScaleFail = "SCALE_FAIL",
        Deallocating = "DEALLOCATING",
        DeallocationFail = "DEALLOCATION_FAIL",
        Deallocated = "DEALLOCATED",
    }
}

/// The store's own key. An id may be used again after a delete, the key never.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct AllocationKey(pub i64);

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Allocation {
    #[serde(skip)]
    pub key: AllocationKey,
    pub id: AllocationId,
    pub login_user: LoginUser,
    /// The same number on every host.
    pub uid: u32,
    pub ip_address: IpAddr,
    /// The last placement, kept for the history after a delete.
    pub compute_unit: ComputeUnitId,
    pub server: Hostname,
    pub ssh_public_key: String,
    pub tags: BTreeMap<String, String>,
    pub status: AllocationStatus,
    /// The run that last acted on it, and why it failed if it did.
    pub run_id: Option<RunId>,
    pub status_reason: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Allocation {
    fn step(
        &self,
        action: &'static str,
        from: &[AllocationStatus],
        to: AllocationStatus,
    ) -> Result<Change<AllocationStatus>, WrongState> {
        if from.contains(&self.status) {
            return Ok(Change::new(self.status, to));
        }
        let error = WrongState::new(action, format!("allocation {}", self.id), self.status);
        Err(match self.status {
            AllocationStatus::AllocationFail => error.hint(format!(
                "`kloigos alloc retry {id}` tries the create again, `kloigos alloc delete {id}` gives it up",
                id = self.id
            )),
            AllocationStatus::DeallocationFail => error.hint(format!(
                "`kloigos alloc delete {}` finishes the delete",
                self.id
            )),
            AllocationStatus::Requested
            | AllocationStatus::Allocating
            | AllocationStatus::Scaling
            | AllocationStatus::Deallocating => match self.run_id {
                Some(run) => error.hint(format!("run {run} is at it: `kloigos runs show {run}`")),
                None => error,
            },
            AllocationStatus::Allocated
            | AllocationStatus::ScaleFail
            | AllocationStatus::Deallocated => error,
        })
    }

    /// As a reader shows it when the process of its run has died: the next
    /// writing command records the same.
    pub fn as_interrupted(mut self) -> Self {
        let change = self
            .end_allocating(false)
            .or_else(|_| self.end_delete(false));
        if let Ok(change) = change {
            self.status = change.to();
            self.status_reason = Some(crate::domain::run::INTERRUPTED.to_owned());
        }
        self
    }

    /// Whether the allocation still holds its user, UID, address and unit.
    pub fn is_live(&self) -> bool {
        self.status != AllocationStatus::Deallocated
    }

    /// The claim is there: REQUESTED becomes ALLOCATING.
    pub fn begin_allocating(&self) -> Result<Change<AllocationStatus>, WrongState> {
        self.step(
            "create",
            &[AllocationStatus::Requested],
            AllocationStatus::Allocating,
        )
    }

    pub fn retry_create(&self) -> Result<Change<AllocationStatus>, WrongState> {
        self.step(
            "retry",
            &[AllocationStatus::AllocationFail],
            AllocationStatus::Allocating,
        )
    }

    pub fn end_allocating(&self, succeeded: bool) -> Result<Change<AllocationStatus>, WrongState> {
        let to = if succeeded {
            AllocationStatus::Allocated
        } else {
            AllocationStatus::AllocationFail
        };
        self.step(
            "end the create of",
            &[AllocationStatus::Requested, AllocationStatus::Allocating],
            to,
        )
    }

    pub fn begin_delete(&self) -> Result<Change<AllocationStatus>, WrongState> {
        self.step(
            "delete",
            &[
                AllocationStatus::Allocated,
                AllocationStatus::AllocationFail,
                AllocationStatus::DeallocationFail,
            ],
            AllocationStatus::Deallocating,
        )
    }

    pub fn end_delete(&self, succeeded: bool) -> Result<Change<AllocationStatus>, WrongState> {
        let to = if succeeded {
            AllocationStatus::Deallocated
        } else {
            AllocationStatus::DeallocationFail
        };
        self.step("end the delete of", &[AllocationStatus::Deallocating], to)
    }

    /// `server remove --lost`: closed on the operator's word, host unseen.
    pub fn lost(&self) -> Result<Change<AllocationStatus>, WrongState> {
        self.step(
            "close",
            &[
                AllocationStatus::Allocated,
                AllocationStatus::AllocationFail,
                AllocationStatus::ScaleFail,
                AllocationStatus::DeallocationFail,
            ],
            AllocationStatus::Deallocated,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AllocationStatus as S;

    fn allocation(status: S) -> Allocation {
        Allocation {
            key: AllocationKey(1),
            id: AllocationId::parse("web").unwrap(),
            login_user: LoginUser::parse("web").unwrap(),
            uid: 20000,
            ip_address: "192.0.2.1".parse().unwrap(),
            compute_unit: ComputeUnitId::parse("a-cu00").unwrap(),
            server: Hostname::parse("a").unwrap(),
            ssh_public_key: String::new(),
            tags: BTreeMap::new(),
            status,
            run_id: Some(RunId(7)),
            status_reason: None,
            created_at: Timestamp(0),
            updated_at: Timestamp(0),
        }
    }

    /// The states from which the step is allowed, and where it leads.
    fn steps(step: impl Fn(&Allocation) -> Result<Change<S>, WrongState>) -> Vec<(S, S)> {
        S::ALL
            .iter()
            .filter_map(|s| step(&allocation(*s)).ok().map(|c| (c.from(), c.to())))
            .collect()
    }

    #[test]
    fn each_step_leads_from_its_states_only() {
        assert_eq!(
            steps(Allocation::begin_allocating),
            [(S::Requested, S::Allocating)]
        );
        assert_eq!(
            steps(Allocation::retry_create),
            [(S::AllocationFail, S::Allocating)]
        );
        assert_eq!(
            steps(|a| a.end_allocating(true)),
            [(S::Requested, S::Allocated), (S::Allocating, S::Allocated)]
        );
        assert_eq!(
            steps(|a| a.end_allocating(false)),
            [
                (S::Requested, S::AllocationFail),
                (S::Allocating, S::AllocationFail)
            ]
        );
        assert_eq!(
            steps(Allocation::begin_delete),
            [
                (S::Allocated, S::Deallocating),
                (S::AllocationFail, S::Deallocating),
                (S::DeallocationFail, S::Deallocating)
            ]
        );
        assert_eq!(
            steps(|a| a.end_delete(true)),
            [(S::Deallocating, S::Deallocated)]
        );
        assert_eq!(
            steps(|a| a.end_delete(false)),
            [(S::Deallocating, S::DeallocationFail)]
        );
    }

    #[test]
    fn a_dead_run_leaves_a_state_that_a_command_continues() {
        for (from, to) in [
            (S::Requested, S::AllocationFail),
            (S::Allocating, S::AllocationFail),
            (S::Deallocating, S::DeallocationFail),
            (S::Allocated, S::Allocated),
            (S::Deallocated, S::Deallocated),
        ] {
            assert_eq!(allocation(from).as_interrupted().status, to, "{from}");
        }
    }

    #[test]
    fn a_refusal_names_the_command_that_goes_on() {
        let e = allocation(S::AllocationFail).end_delete(true).unwrap_err();
        assert_eq!(
            e.to_string(),
            "cannot end the delete of allocation web: it is ALLOCATION_FAIL"
        );
        assert!(e.hints[0].contains("kloigos alloc retry web"));
        let e = allocation(S::Allocating).begin_delete().unwrap_err();
        assert!(e.hints[0].contains("kloigos runs show 7"));
    }
}
