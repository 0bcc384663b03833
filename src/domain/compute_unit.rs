//! Compute units and their states.

use serde::Serialize;

use crate::domain::allocation::AllocationKey;
use crate::domain::cpu::CpuRange;
use crate::domain::name::{AllocationId, ComputeUnitId, Hostname};
use crate::domain::time::Timestamp;
use crate::domain::transition::{Change, WrongState, status_enum};

status_enum! {
    CuStatus {
        Free = "FREE",
        Allocating = "ALLOCATING",
        Allocated = "ALLOCATED",
        AllocationFail = "ALLOCATION_FAIL",
        Deallocating = "DEALLOCATING",
        DeallocationFail = "DEALLOCATION_FAIL",
        Unavailable = "UNAVAILABLE",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ComputeUnit {
    pub id: ComputeUnitId,
    pub server: Hostname,
    pub ordinal: u32,
    pub cpu_range: CpuRange,
    pub cpu_count: u32,
    /// Known once the server is initialised.
    pub numa_node: Option<u32>,
    pub status: CuStatus,
    /// The allocation placed on it.
    pub allocation: Option<AllocationId>,
    #[serde(skip)]
    pub allocation_key: Option<AllocationKey>,
    pub updated_at: Timestamp,
}

impl ComputeUnit {
    /// Where the unit's volume is mounted on its server.
    pub fn storage_path(&self) -> String {
        format!("/mnt/kloigos/{}/cu{:02}", self.server, self.ordinal)
    }

    fn step(
        &self,
        action: &'static str,
        from: &[CuStatus],
        to: CuStatus,
    ) -> Result<Change<CuStatus>, WrongState> {
        if from.contains(&self.status) {
            Ok(Change::new(self.status, to))
        } else {
            Err(WrongState::new(
                action,
                format!("compute unit {}", self.id),
                self.status,
            ))
        }
    }

    pub fn reserve(&self) -> Result<Change<CuStatus>, WrongState> {
        self.step("allocate", &[CuStatus::Free], CuStatus::Allocating)
    }

    /// `alloc retry` after a failed create.
    pub fn retry(&self) -> Result<Change<CuStatus>, WrongState> {
        self.step("retry", &[CuStatus::AllocationFail], CuStatus::Allocating)
    }

    pub fn end_allocating(&self, succeeded: bool) -> Result<Change<CuStatus>, WrongState> {
        let to = if succeeded {
            CuStatus::Allocated
        } else {
            CuStatus::AllocationFail
        };
        self.step("end the allocation of", &[CuStatus::Allocating], to)
    }

    pub fn begin_release(&self) -> Result<Change<CuStatus>, WrongState> {
        self.step(
            "release",
            &[
                CuStatus::Allocated,
                CuStatus::AllocationFail,
                CuStatus::DeallocationFail,
            ],
            CuStatus::Deallocating,
        )
    }

    /// Free again only after the playbook that cleans the host has succeeded.
    pub fn end_release(&self, succeeded: bool) -> Result<Change<CuStatus>, WrongState> {
        let to = if succeeded {
            CuStatus::Free
        } else {
            CuStatus::DeallocationFail
        };
        self.step("end the release of", &[CuStatus::Deallocating], to)
    }
}
