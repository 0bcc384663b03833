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
