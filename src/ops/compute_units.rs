//! Compute units: shown, taken out of use and back.

use serde::Serialize;

use super::Services;
use super::servers;
use super::truth::Truth;
use crate::domain::allocation::Allocation;
use crate::domain::compute_unit::{ComputeUnit, CuStatus};
use crate::domain::memory::MemoryLimits;
use crate::domain::name::{ComputeUnitId, Hostname};
use crate::domain::server::Server;
use crate::error::Error;
use crate::store::Tx;

#[derive(Debug, Clone, Default)]
pub struct CuFilter {
    pub server: Option<Hostname>,
    pub status: Option<CuStatus>,
}

#[derive(Debug, Clone, Serialize)]
pub struct CuDetail {
    #[serde(flatten)]
    pub unit: ComputeUnit,
    pub cpu_set: String,
    pub storage_path: String,
    /// None until the server is initialised.
    pub memory: Option<MemoryLimits>,
    pub allocation_detail: Option<Allocation>,
    #[serde(skip)]
    pub server: Server,
}

pub(super) fn find(tx: &Tx<'_>, id: &ComputeUnitId) -> Result<ComputeUnit, Error> {
    tx.compute_units().get(id)?.ok_or_else(|| {
        Error::not_found(format!("there is no compute unit {id}"))
            .hint("`kloigos cu list` shows them all")
    })
}

/// Takes a unit out of use, or back; one that is so already stays so.
pub fn set_enabled(
    services: &Services<'_>,
    id: &ComputeUnitId,
    enabled: bool,
) -> Result<ComputeUnit, Error> {
    services.store.write(|tx| {
        let unit = find(tx, id)?;
        let change = match (enabled, unit.status) {
            (true, CuStatus::Free) | (false, CuStatus::Unavailable) => return Ok(unit),
            (true, _) => unit.enable()?,
            (false, _) => unit.disable()?,
        };
        tx.compute_units().set_status(id, change, None, None)?;
        find(tx, id)
    })
}

/// The limits that a tenant of the unit gets.
pub(super) fn memory(server: &Server, unit: &ComputeUnit) -> Option<MemoryLimits> {
    let (mb, cpus) = (server.facts.memory_mb?, server.facts.cpus?);
    Some(MemoryLimits::for_share(mb, unit.cpu_count, cpus))
}

pub fn list(services: &Services<'_>, filter: &CuFilter) -> Result<Vec<ComputeUnit>, Error> {
    let truth = Truth::see(*services)?;
    services.store.read(|tx| {
        if let Some(server) = &filter.server {
            servers::find(tx, server)?;
        }
        let mut units = Vec::new();
        for unit in tx.compute_units().list(filter.server.as_ref())? {
            let unit = truth.unit(tx, unit)?;
            if filter.status.is_none_or(|s| s == unit.status) {
                units.push(unit);
            }
        }
        Ok(units)
    })
}

pub fn show(services: &Services<'_>, id: &ComputeUnitId) -> Result<CuDetail, Error> {
    let truth = Truth::see(*services)?;
    services.store.read(|tx| {
        let unit = truth.unit(tx, find(tx, id)?)?;
        let server = servers::find(tx, &unit.server)?;
        let allocation = match unit.allocation_key {
            Some(key) => tx.allocations().by_key(key)?,
            None => None,
        };
        Ok(CuDetail {
            cpu_set: unit.cpu_range.cpu_set(),
            storage_path: unit.storage_path(),
            memory: memory(&server, &unit),
            allocation_detail: allocation.map(|a| truth.allocation(a)),
            unit,
            server: truth.server(server),
        })
    })
}
