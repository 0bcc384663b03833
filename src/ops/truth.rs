//! What readers show: the store's rows, with the runs whose processes have
//! died told as what they are. Nothing is written; the next writing command
//! records the same.

use std::collections::BTreeSet;

use super::Services;
use crate::domain::allocation::Allocation;
use crate::domain::compute_unit::ComputeUnit;
use crate::domain::run::{Run, RunId};
use crate::domain::server::Server;
use crate::error::Error;
use crate::runner;
use crate::store::Tx;

pub(super) struct Truth {
    orphans: BTreeSet<RunId>,
}

impl Truth {
    pub(super) fn see(services: Services<'_>) -> Result<Self, Error> {
        Ok(Truth {
            orphans: runner::orphan_ids(services.store, services.paths)?
                .into_iter()
                .collect(),
        })
    }

    fn died(&self, run: Option<RunId>) -> bool {
        run.is_some_and(|r| self.orphans.contains(&r))
    }

    pub(super) fn server(&self, server: Server) -> Server {
        if self.died(server.run_id) {
            server.as_interrupted()
        } else {
            server
        }
    }

    pub(super) fn allocation(&self, allocation: Allocation) -> Allocation {
        if self.died(allocation.run_id) {
            allocation.as_interrupted()
        } else {
            allocation
        }
    }

    /// A unit's state follows the run of the allocation that it carries.
    pub(super) fn unit(&self, tx: &Tx<'_>, unit: ComputeUnit) -> Result<ComputeUnit, Error> {
        if self.orphans.is_empty() {
            return Ok(unit);
        }
        let Some(key) = unit.allocation_key else {
            return Ok(unit);
        };
        let run = tx.allocations().by_key(key)?.and_then(|a| a.run_id);
        Ok(if self.died(run) {
            unit.as_interrupted()
        } else {
            unit
        })
    }

    pub(super) fn run(&self, run: Run) -> Run {
        if self.orphans.contains(&run.id) {
            run.as_interrupted()
        } else {
            run
        }
    }
}
