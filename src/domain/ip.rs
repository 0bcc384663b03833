//! Floating addresses and their states.

use std::net::IpAddr;

use serde::Serialize;

use crate::domain::allocation::AllocationKey;
use crate::domain::name::AllocationId;
use crate::domain::time::Timestamp;
use crate::domain::transition::{Change, WrongState, status_enum};

status_enum! {
    IpStatus {
        Free = "FREE",
        Reserved = "RESERVED",
        Allocated = "ALLOCATED",
        Releasing = "RELEASING",
        Unavailable = "UNAVAILABLE",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PoolAddress {
    pub address: IpAddr,
    pub status: IpStatus,
    pub allocation: Option<AllocationId>,
    #[serde(skip)]
    pub allocation_key: Option<AllocationKey>,
    pub updated_at: Timestamp,
}

impl PoolAddress {
    fn step(
        &self,
        action: &'static str,
        from: &[IpStatus],
        to: IpStatus,
    ) -> Result<Change<IpStatus>, WrongState> {
        if from.contains(&self.status) {
            Ok(Change::new(self.status, to))
        } else {
            Err(WrongState::new(
                action,
                format!("address {}", self.address),
                self.status,
            ))
        }
    }

    pub fn reserve(&self) -> Result<Change<IpStatus>, WrongState> {
        self.step("reserve", &[IpStatus::Free], IpStatus::Reserved)
    }

    pub fn allocated(&self) -> Result<Change<IpStatus>, WrongState> {
        self.step("allocate", &[IpStatus::Reserved], IpStatus::Allocated)
    }

    pub fn begin_release(&self) -> Result<Change<IpStatus>, WrongState> {
        self.step(
            "release",
            // RELEASING again: a delete that is tried once more.
            &[IpStatus::Reserved, IpStatus::Allocated, IpStatus::Releasing],
            IpStatus::Releasing,
        )
    }

    pub fn released(&self) -> Result<Change<IpStatus>, WrongState> {
        self.step("free", &[IpStatus::Releasing], IpStatus::Free)
    }

    pub fn may_remove(&self) -> Result<(), WrongState> {
        match self.status {
            IpStatus::Free | IpStatus::Unavailable => Ok(()),
            IpStatus::Reserved | IpStatus::Allocated | IpStatus::Releasing => {
                let error =
                    WrongState::new("remove", format!("address {}", self.address), self.status);
                Err(match &self.allocation {
                    Some(id) => error.hint(format!(
                        "it belongs to allocation {id}: `kloigos alloc delete {id}` frees it"
                    )),
                    None => error,
                })
            }
        }
    }
}
