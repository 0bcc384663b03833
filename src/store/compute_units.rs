//! Compute units.

use rusqlite::{OptionalExtension, Row, params};

use super::values::{parsed, parsed_option, time};
use super::{StoreError, Tx};
use crate::domain::allocation::AllocationKey;
use crate::domain::compute_unit::{ComputeUnit, CuStatus};
use crate::domain::cpu::CpuRange;
use crate::domain::event::NewEvent;
use crate::domain::name::{ComputeUnitId, Hostname, Place};
use crate::domain::placement::Candidate;
use crate::domain::run::RunId;
use crate::domain::server::ServerStatus;
use crate::domain::transition::Change;

pub struct ComputeUnits<'t>(pub(in crate::store) &'t Tx<'t>);

const SELECT: &str = "SELECT u.*, a.id AS allocation FROM compute_units u
     LEFT JOIN allocations a ON a.key = u.allocation_key";

impl ComputeUnits<'_> {
    pub fn insert(
        &self,
        server: &Hostname,
        ordinal: u32,
        range: &CpuRange,
    ) -> Result<(), StoreError> {
        self.0
            .conn()
            .execute(
                "INSERT INTO compute_units (id, server, ordinal, cpu_range, cpu_count, status, updated_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    ComputeUnitId::of(server, ordinal).as_str(),
                    server.as_str(),
                    ordinal,
                    range.as_str(),
                    range.count(),
                    CuStatus::Free.as_str(),
                    self.0.now().0
                ],
            )
            .map_err(self.0.wrap())?;
        self.0.events().append(
            NewEvent::new(
                "compute_unit.added",
                format!("compute unit {}", ComputeUnitId::of(server, ordinal)),
            )
            .detail(serde_json::json!({ "cpu_range": range })),
        )
    }

    /// By server and ordinal.
    pub fn list(&self, server: Option<&Hostname>) -> Result<Vec<ComputeUnit>, StoreError> {
        self.0
            .conn()
            .prepare_cached(&format!(
                "{SELECT} WHERE ?1 IS NULL OR u.server = ?1 ORDER BY u.server, u.ordinal"
            ))
            .and_then(|mut s| s.query_map([server.map(Hostname::as_str)], unit)?.collect())
            .map_err(self.0.wrap())
    }

    pub fn get(&self, id: &ComputeUnitId) -> Result<Option<ComputeUnit>, StoreError> {
        self.0
            .conn()
            .prepare_cached(&format!("{SELECT} WHERE u.id = ?1"))
            .and_then(|mut s| s.query_row([id.as_str()], unit).optional())
            .map_err(self.0.wrap())
    }

    /// Every unit of every READY server, free or not.
    pub fn candidates(&self) -> Result<Vec<Candidate>, StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "SELECT u.*, a.id AS allocation, s.region, s.zone FROM compute_units u
                 JOIN servers s ON s.hostname = u.server
                 LEFT JOIN allocations a ON a.key = u.allocation_key
                 WHERE s.status = ?1 ORDER BY u.server, u.ordinal",
            )
            .and_then(|mut s| {
                s.query_map([ServerStatus::Ready.as_str()], |row| {
                    Ok(Candidate {
                        unit: unit(row)?,
                        region: parsed::<Place>(row, "region")?,
                        zone: parsed::<Place>(row, "zone")?,
                    })
                })?
                .collect()
            })
            .map_err(self.0.wrap())
    }

    /// Changes the status, and with it the allocation that the unit carries.
    pub fn set_status(
        &self,
        id: &ComputeUnitId,
        change: Change<CuStatus>,
        allocation: Option<AllocationKey>,
        run: Option<RunId>,
    ) -> Result<(), StoreError> {
        let rows = self
            .0
            .conn()
            .execute(
                "UPDATE compute_units SET status = ?3, allocation_key = ?4, updated_at = ?5
                 WHERE id = ?1 AND status = ?2",
                params![
                    id.as_str(),
                    change.from().as_str(),
                    change.to().as_str(),
                    allocation.map(|k| k.0),
                    self.0.now().0
                ],
            )
            .map_err(self.0.wrap())?;
        self.0.status_event(
            "compute_unit.status",
            format!("compute unit {id}"),
            change,
            run,
            None,
            rows,
        )
    }

    /// What SERVER_INIT found.
    pub fn set_numa_node(&self, id: &ComputeUnitId, node: Option<u32>) -> Result<(), StoreError> {
        self.0
            .conn()
            .execute(
                "UPDATE compute_units SET numa_node = ?2 WHERE id = ?1",
                params![id.as_str(), node],
            )
            .map_err(self.0.wrap())?;
        Ok(())
    }
}

fn unit(row: &Row<'_>) -> rusqlite::Result<ComputeUnit> {
    Ok(ComputeUnit {
        id: parsed(row, "id")?,
        server: parsed(row, "server")?,
        ordinal: row.get("ordinal")?,
        cpu_range: parsed(row, "cpu_range")?,
        cpu_count: row.get("cpu_count")?,
        numa_node: row.get("numa_node")?,
        status: parsed(row, "status")?,
        allocation: parsed_option(row, "allocation")?,
        allocation_key: row
            .get::<_, Option<i64>>("allocation_key")?
            .map(AllocationKey),
        updated_at: time(row, "updated_at")?,
    })
}
