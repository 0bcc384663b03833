//! Allocations.

use std::collections::BTreeMap;
use std::net::IpAddr;

use rusqlite::{OptionalExtension, Row, named_params, params};

use super::values::{json, parsed, time};
use super::{StoreError, Tx};
use crate::domain::allocation::{Allocation, AllocationKey, AllocationStatus};
use crate::domain::event::NewEvent;
use crate::domain::name::{AllocationId, ComputeUnitId, Hostname, LoginUser};
use crate::domain::run::RunId;
use crate::domain::transition::Change;

pub struct Allocations<'t>(pub(in crate::store) &'t Tx<'t>);

/// How an audit event names an allocation.
pub fn subject(id: &AllocationId) -> String {
    format!("allocation {id}")
}

#[derive(Debug, Clone)]
pub struct NewRow<'a> {
    pub id: &'a AllocationId,
    pub login_user: &'a LoginUser,
    pub uid: u32,
    pub ip_address: IpAddr,
    pub compute_unit: &'a ComputeUnitId,
    pub server: &'a Hostname,
    pub ssh_public_key: &'a str,
    pub tags: &'a BTreeMap<String, String>,
}

impl Allocations<'_> {
    /// A new one, REQUESTED.
    pub fn insert(&self, new: &NewRow<'_>) -> Result<AllocationKey, StoreError> {
        self.0
            .conn()
            .execute(
                "INSERT INTO allocations (id, login_user, uid, ip_address, compute_unit, server,
                   ssh_public_key, tags, status, created_at, updated_at)
                 VALUES (:id, :login_user, :uid, :ip_address, :compute_unit, :server,
                   :ssh_public_key, :tags, :status, :now, :now)",
                named_params! {
                    ":id": new.id.as_str(),
                    ":login_user": new.login_user.as_str(),
                    ":uid": new.uid,
                    ":ip_address": new.ip_address.to_string(),
                    ":compute_unit": new.compute_unit.as_str(),
                    ":server": new.server.as_str(),
                    ":ssh_public_key": new.ssh_public_key,
                    ":tags": serde_json::json!(new.tags).to_string(),
                    ":status": AllocationStatus::Requested.as_str(),
                    ":now": self.0.now().0,
                },
            )
            .map_err(self.0.wrap())?;
        let key = AllocationKey(self.0.conn().last_insert_rowid());
        self.0.events().append(
            NewEvent::new("allocation.requested", subject(new.id)).detail(serde_json::json!({
                "login_user": new.login_user,
                "uid": new.uid,
                "ip_address": new.ip_address,
                "compute_unit": new.compute_unit,
            })),
        )?;
        Ok(key)
    }

    /// By id; of those with one id, the latest first. On one server, and only
    /// those that are not history, where that is asked.
    pub fn list(
        &self,
        server: Option<&Hostname>,
        live: bool,
    ) -> Result<Vec<Allocation>, StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "SELECT * FROM allocations
                 WHERE (?1 IS NULL OR server = ?1) AND (NOT ?2 OR status <> 'DEALLOCATED')
                 ORDER BY id, key DESC",
            )
            .and_then(|mut s| {
                s.query_map(params![server.map(Hostname::as_str), live], allocation)?
                    .collect()
            })
            .map_err(self.0.wrap())
    }

    /// The live one of that id, else the latest that was deleted.
    pub fn get(&self, id: &AllocationId) -> Result<Option<Allocation>, StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "SELECT * FROM allocations WHERE id = ?1
                 ORDER BY status = 'DEALLOCATED', key DESC LIMIT 1",
            )
            .and_then(|mut s| s.query_row([id.as_str()], allocation).optional())
            .map_err(self.0.wrap())
    }

    /// Those on which the run acts or last acted.
    pub fn by_run(&self, run: RunId) -> Result<Vec<Allocation>, StoreError> {
        self.0
            .conn()
            .prepare_cached("SELECT * FROM allocations WHERE run_id = ?1")
            .and_then(|mut s| s.query_map([run.0], allocation)?.collect())
            .map_err(self.0.wrap())
    }

    pub fn by_key(&self, key: AllocationKey) -> Result<Option<Allocation>, StoreError> {
        self.0
            .conn()
            .prepare_cached("SELECT * FROM allocations WHERE key = ?1")
            .and_then(|mut s| s.query_row([key.0], allocation).optional())
            .map_err(self.0.wrap())
    }

    /// The live allocation that has the login user.
    pub fn by_user(&self, user: &LoginUser) -> Result<Option<Allocation>, StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "SELECT * FROM allocations WHERE login_user = ?1 AND status <> 'DEALLOCATED'",
            )
            .and_then(|mut s| s.query_row([user.as_str()], allocation).optional())
            .map_err(self.0.wrap())
    }

    /// The first number N for which `alloc-N` was never used.
    pub fn next_number(&self) -> Result<u64, StoreError> {
        let highest: Option<i64> = self
            .0
            .conn()
            .prepare_cached(
                "SELECT max(CAST(substr(id, 7) AS INTEGER)) FROM allocations
                 WHERE id GLOB 'alloc-[0-9]*'",
            )
            .and_then(|mut s| s.query_row([], |r| r.get(0)))
            .map_err(self.0.wrap())?;
        Ok(highest.and_then(|n| u64::try_from(n).ok()).unwrap_or(0) + 1)
    }

    /// A UID of the range that no live allocation has: one above the highest
    /// ever given, so that files which outlive a tenant never meet the next,
    /// and the lowest free one when the range has been gone through.
    pub fn free_uid(&self, first: u32, last: u32) -> Result<Option<u32>, StoreError> {
        let highest: Option<u32> = self
            .0
            .conn()
            .prepare_cached("SELECT max(uid) FROM allocations WHERE uid BETWEEN ?1 AND ?2")
            .and_then(|mut s| s.query_row([first, last], |r| r.get(0)))
            .map_err(self.0.wrap())?;
        match highest {
            None => return Ok(Some(first)),
            Some(h) if h < last => return Ok(Some(h + 1)),
            Some(_) => {}
        }
        let taken: Vec<u32> = self
            .0
            .conn()
            .prepare_cached(
                "SELECT uid FROM allocations WHERE status <> 'DEALLOCATED'
                   AND uid BETWEEN ?1 AND ?2 ORDER BY uid",
            )
            .and_then(|mut s| s.query_map([first, last], |r| r.get(0))?.collect())
            .map_err(self.0.wrap())?;
        let taken: std::collections::BTreeSet<u32> = taken.into_iter().collect();
        Ok((first..=last).find(|uid| !taken.contains(uid)))
    }

    pub fn set_status(
        &self,
        allocation: &Allocation,
        change: Change<AllocationStatus>,
        run: Option<RunId>,
        reason: Option<&str>,
    ) -> Result<(), StoreError> {
        let rows = self
            .0
            .conn()
            .execute(
                "UPDATE allocations SET status = ?3, run_id = coalesce(?4, run_id),
                   status_reason = ?5, updated_at = ?6
                 WHERE key = ?1 AND status = ?2",
                params![
                    allocation.key.0,
                    change.from().as_str(),
                    change.to().as_str(),
                    run.map(|r| r.0),
                    reason,
                    self.0.now().0
                ],
            )
            .map_err(self.0.wrap())?;
        self.0.status_event(
            "allocation.status",
            subject(&allocation.id),
            change,
            run,
            reason,
            rows,
        )
    }

    /// The run that now acts on it, before any change of its status.
    pub fn set_run(&self, key: AllocationKey, run: RunId) -> Result<(), StoreError> {
        self.0
            .conn()
            .execute(
                "UPDATE allocations SET run_id = ?2 WHERE key = ?1",
                params![key.0, run.0],
            )
            .map_err(self.0.wrap())?;
        Ok(())
    }
}

fn allocation(row: &Row<'_>) -> rusqlite::Result<Allocation> {
    Ok(Allocation {
        key: AllocationKey(row.get("key")?),
        id: parsed(row, "id")?,
        login_user: parsed(row, "login_user")?,
        uid: row.get("uid")?,
        ip_address: parsed(row, "ip_address")?,
        compute_unit: parsed(row, "compute_unit")?,
        server: parsed(row, "server")?,
        ssh_public_key: row.get("ssh_public_key")?,
        tags: json(row, "tags")?,
        status: parsed(row, "status")?,
        run_id: row.get::<_, Option<i64>>("run_id")?.map(RunId),
        status_reason: row.get("status_reason")?,
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
    })
}
