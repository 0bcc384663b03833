//! How much memory a compute unit gives.

use serde::Serialize;

/// Limits of a tenant's slice, in MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MemoryLimits {
    /// `memory.high`: the kernel reclaims and throttles above it.
    pub high_mb: u64,
    /// `memory.max`: the kernel kills above it.
    pub max_mb: u64,
}

impl MemoryLimits {
    /// max = 90 % of the server's memory × the CU's CPUs ÷ the server's CPUs;
    /// high = 90 % of max. Rounded down, so that all units together never ask
    /// for more than 90 %.
    pub fn for_share(server_mb: u64, cu_cpus: u32, server_cpus: u32) -> Self {
        let max_mb = server_mb * 9 * u64::from(cu_cpus) / (10 * u64::from(server_cpus.max(1)));
        MemoryLimits {
            high_mb: max_mb * 9 / 10,
            max_mb,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_units_of_a_server_share_ninety_percent() {
        let l = MemoryLimits::for_share(1000, 1, 2);
        assert_eq!((l.max_mb, l.high_mb), (450, 405));
        let whole = MemoryLimits::for_share(1001, 3, 3);
        assert_eq!(whole.max_mb, 900);
    }
}
