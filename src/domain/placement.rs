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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cpu::CpuRange;
    use crate::domain::time::Timestamp;

    fn unit(server: &str, ordinal: u32, range: &str, status: CuStatus) -> Candidate {
        let server = Hostname::parse(server).unwrap();
        let cpu_range = CpuRange::parse(range).unwrap();
        Candidate {
            unit: ComputeUnit {
                id: ComputeUnitId::of(&server, ordinal),
                cpu_count: cpu_range.count(),
                server,
                ordinal,
                cpu_range,
                numa_node: None,
                status,
                allocation: None,
                allocation_key: None,
                updated_at: Timestamp(0),
            },
            region: Place::parse("eu").unwrap(),
            zone: Place::parse("a").unwrap(),
        }
    }

    fn chosen(wish: &Wish, all: &[Candidate]) -> Option<String> {
        choose(wish, all).map(|c| c.unit.id.to_string())
    }

    #[test]
    fn the_least_loaded_server_comes_first_then_the_lowest_ordinal() {
        let all = [
            unit("a", 0, "0-1", CuStatus::Allocated),
            unit("a", 1, "2-3", CuStatus::Free),
            unit("b", 1, "2-3", CuStatus::Free),
            unit("b", 0, "0-1", CuStatus::Free),
        ];
        assert_eq!(chosen(&Wish::default(), &all).as_deref(), Some("b-cu00"));
        assert_eq!(
            chosen(&Wish::default(), &all[..3]).as_deref(),
            Some("b-cu01")
        );
    }

    #[test]
    fn load_is_a_share_of_cpus_not_a_count_of_units() {
        let all = [
            unit("big", 0, "0-7", CuStatus::Allocated),
            unit("big", 1, "8-63", CuStatus::Free),
            unit("small", 0, "0", CuStatus::Allocated),
            unit("small", 1, "1", CuStatus::Free),
        ];
        assert_eq!(chosen(&Wish::default(), &all).as_deref(), Some("big-cu01"));
    }

    #[test]
    fn a_wish_is_fulfilled_whole_or_not_at_all() {
        let all = [
            unit("a", 0, "0-1", CuStatus::Free),
            unit("a", 1, "2", CuStatus::AllocationFail),
        ];
        let cpus = |n| Wish {
            cpus: Some(n),
            ..Wish::default()
        };
        assert_eq!(chosen(&cpus(2), &all).as_deref(), Some("a-cu00"));
        assert_eq!(chosen(&cpus(1), &all), None);
        let elsewhere = Wish {
            zone: Some(Place::parse("b").unwrap()),
            ..Wish::default()
        };
        assert_eq!(chosen(&elsewhere, &all), None);
    }
}
