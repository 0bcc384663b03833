//! Which compute unit a new allocation gets.

use crate::domain::compute_unit::{ComputeUnit, CuStatus};
use crate::domain::name::{ComputeUnitId, Hostname, Place};

#[derive(Debug, Clone, Default)]
pub struct Wish {
    pub cpus: Option<u32>,
    pub region: Option<Place>,
    pub zone: Option<Place>,
    pub unit: Option<ComputeUnitId>,
}

/// A unit of a READY server, with what choosing needs of the server.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub unit: ComputeUnit,
    pub region: Place,
    pub zone: Place,
}

/// The share of a server's CPUs that is not free, as a fraction for exact
/// comparison.
fn load(server: &Hostname, all: &[Candidate]) -> (u64, u64) {
    let of_server = || all.iter().filter(|c| &c.unit.server == server);
    let total: u64 = of_server().map(|c| u64::from(c.unit.cpu_count)).sum();
    let used: u64 = of_server()
        .filter(|c| c.unit.status != CuStatus::Free)
        .map(|c| u64::from(c.unit.cpu_count))
        .sum();
    (used, total.max(1))
}

/// Least loaded server first, then its name, then the lowest ordinal. `all`
/// holds every unit of every READY server, free or not.
pub fn choose<'a>(wish: &Wish, all: &'a [Candidate]) -> Option<&'a Candidate> {
    all.iter()
        .filter(|c| {
            c.unit.status == CuStatus::Free
                && wish.cpus.is_none_or(|n| n == c.unit.cpu_count)
                && wish.region.as_ref().is_none_or(|r| *r == c.region)
                && wish.zone.as_ref().is_none_or(|z| *z == c.zone)
                && wish.unit.as_ref().is_none_or(|u| *u == c.unit.id)
        })
        .min_by(|a, b| {
            let (ua, ta) = load(&a.unit.server, all);
            let (ub, tb) = load(&b.unit.server, all);
            (ua * tb)
                .cmp(&(ub * ta))
                .then_with(|| a.unit.server.cmp(&b.unit.server))
                .then_with(|| a.unit.ordinal.cmp(&b.unit.ordinal))
        })
}
