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

    /// As a reader shows it when the process of its allocation's run has died.
    pub fn as_interrupted(mut self) -> Self {
        let change = self
            .end_allocating(false)
            .or_else(|_| self.end_release(false));
        if let Ok(change) = change {
            self.status = change.to();
        }
        self
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

    /// Takes it out of use, before anybody has it.
    pub fn disable(&self) -> Result<Change<CuStatus>, WrongState> {
        self.step("disable", &[CuStatus::Free], CuStatus::Unavailable)
    }

    pub fn enable(&self) -> Result<Change<CuStatus>, WrongState> {
        self.step("enable", &[CuStatus::Unavailable], CuStatus::Free)
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

#[cfg(test)]
mod tests {
    use super::*;
    use CuStatus as S;

    fn steps(step: impl Fn(&ComputeUnit) -> Result<Change<S>, WrongState>) -> Vec<(S, S)> {
        let server = Hostname::parse("a").unwrap();
        let unit = |status| ComputeUnit {
            id: ComputeUnitId::of(&server, 0),
            server: server.clone(),
            ordinal: 0,
            cpu_range: CpuRange::parse("0").unwrap(),
            cpu_count: 1,
            numa_node: None,
            status,
            allocation: None,
            allocation_key: None,
            updated_at: Timestamp(0),
        };
        S::ALL
            .iter()
            .filter_map(|s| step(&unit(*s)).ok().map(|c| (c.from(), c.to())))
            .collect()
    }

    #[test]
    fn only_a_release_that_succeeded_makes_a_unit_free() {
        assert_eq!(steps(ComputeUnit::reserve), [(S::Free, S::Allocating)]);
        assert_eq!(steps(ComputeUnit::disable), [(S::Free, S::Unavailable)]);
        assert_eq!(steps(ComputeUnit::enable), [(S::Unavailable, S::Free)]);
        assert_eq!(
            steps(ComputeUnit::retry),
            [(S::AllocationFail, S::Allocating)]
        );
        assert_eq!(
            steps(ComputeUnit::begin_release),
            [
                (S::Allocated, S::Deallocating),
                (S::AllocationFail, S::Deallocating),
                (S::DeallocationFail, S::Deallocating)
            ]
        );
        assert_eq!(steps(|u| u.end_release(true)), [(S::Deallocating, S::Free)]);
        assert_eq!(
            steps(|u| u.end_release(false)),
            [(S::Deallocating, S::DeallocationFail)]
        );
    }
}
