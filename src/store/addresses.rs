//! The pool of floating addresses.

use std::net::IpAddr;

use rusqlite::{OptionalExtension, Row, params};

use super::values::{parsed, parsed_option, time};
use super::{StoreError, Tx};
use crate::domain::allocation::AllocationKey;
use crate::domain::event::NewEvent;
use crate::domain::ip::{IpStatus, PoolAddress};
use crate::domain::run::RunId;
use crate::domain::transition::Change;

pub struct Addresses<'t>(pub(in crate::store) &'t Tx<'t>);

const SELECT: &str = "SELECT p.*, a.id AS allocation FROM ip_pool p
     LEFT JOIN allocations a ON a.key = p.allocation_key";

/// Bytes whose order is the order of addresses, IPv4 first.
fn sort_key(address: IpAddr) -> Vec<u8> {
    let (family, bytes) = match address {
        IpAddr::V4(a) => (4, a.octets().to_vec()),
        IpAddr::V6(a) => (6, a.octets().to_vec()),
    };
    std::iter::once(family).chain(bytes).collect()
}

impl Addresses<'_> {
    /// False when it is already there.
    pub fn insert(&self, address: IpAddr) -> Result<bool, StoreError> {
        let rows = self
            .0
            .conn()
            .prepare_cached(
                "INSERT OR IGNORE INTO ip_pool (address, sort_key, status, updated_at)
                 VALUES (?1, ?2, ?3, ?4)",
            )
            .and_then(|mut s| {
                s.execute(params![
                    address.to_string(),
                    sort_key(address),
                    IpStatus::Free.as_str(),
                    self.0.now().0
                ])
            })
            .map_err(self.0.wrap())?;
        if rows == 0 {
            return Ok(false);
        }
        self.0
            .events()
            .append(NewEvent::new("address.added", subject(address)))?;
        Ok(true)
    }

    /// In the order of addresses.
    pub fn list(&self, status: Option<IpStatus>) -> Result<Vec<PoolAddress>, StoreError> {
        self.0
            .conn()
            .prepare_cached(&format!(
                "{SELECT} WHERE ?1 IS NULL OR p.status = ?1 ORDER BY p.sort_key"
            ))
            .and_then(|mut s| {
                s.query_map([status.map(IpStatus::as_str)], address)?
                    .collect()
            })
            .map_err(self.0.wrap())
    }

    pub fn get(&self, wanted: IpAddr) -> Result<Option<PoolAddress>, StoreError> {
        self.0
            .conn()
            .prepare_cached(&format!("{SELECT} WHERE p.address = ?1"))
            .and_then(|mut s| s.query_row([wanted.to_string()], address).optional())
            .map_err(self.0.wrap())
    }

    /// The lowest free one.
    pub fn first_free(&self) -> Result<Option<PoolAddress>, StoreError> {
        self.0
            .conn()
            .prepare_cached(&format!(
                "{SELECT} WHERE p.status = 'FREE' ORDER BY p.sort_key LIMIT 1"
            ))
            .and_then(|mut s| s.query_row([], address).optional())
            .map_err(self.0.wrap())
    }

    /// Changes the status, and with it the allocation that has the address.
    pub fn set_status(
        &self,
        address: IpAddr,
        change: Change<IpStatus>,
        allocation: Option<AllocationKey>,
        run: Option<RunId>,
    ) -> Result<(), StoreError> {
        let rows = self
            .0
            .conn()
            .execute(
                "UPDATE ip_pool SET status = ?3, allocation_key = ?4, updated_at = ?5
                 WHERE address = ?1 AND status = ?2",
                params![
                    address.to_string(),
                    change.from().as_str(),
                    change.to().as_str(),
                    allocation.map(|k| k.0),
                    self.0.now().0
                ],
            )
            .map_err(self.0.wrap())?;
        self.0
            .status_event("address.status", subject(address), change, run, None, rows)
    }

    pub fn remove(&self, address: IpAddr) -> Result<(), StoreError> {
        self.0
            .conn()
            .execute(
                "DELETE FROM ip_pool WHERE address = ?1",
                [address.to_string()],
            )
            .map_err(self.0.wrap())?;
        self.0
            .events()
            .append(NewEvent::new("address.removed", subject(address)))
    }
}

fn subject(address: IpAddr) -> String {
    format!("address {address}")
}

fn address(row: &Row<'_>) -> rusqlite::Result<PoolAddress> {
    Ok(PoolAddress {
        address: parsed(row, "address")?,
        status: parsed(row, "status")?,
        allocation: parsed_option(row, "allocation")?,
        allocation_key: row
            .get::<_, Option<i64>>("allocation_key")?
            .map(AllocationKey),
        updated_at: time(row, "updated_at")?,
    })
}
