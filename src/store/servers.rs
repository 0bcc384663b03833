//! Servers.

use rusqlite::{OptionalExtension, Row, named_params, params};

use super::values::{json, parsed, parsed_option, time};
use super::{StoreError, Tx};
use crate::domain::event::NewEvent;
use crate::domain::name::Hostname;
use crate::domain::run::RunId;
use crate::domain::server::{Health, HostFacts, NewServer, Server, ServerStatus, StorageWish};
use crate::domain::transition::Change;

pub struct Servers<'t>(pub(in crate::store) &'t Tx<'t>);

/// How an audit event names a server.
pub fn subject(hostname: &Hostname) -> String {
    format!("server {hostname}")
}

impl Servers<'_> {
    /// By name.
    pub fn list(&self) -> Result<Vec<Server>, StoreError> {
        self.0
            .conn()
            .prepare_cached("SELECT * FROM servers ORDER BY hostname")
            .and_then(|mut s| s.query_map([], server)?.collect())
            .map_err(self.0.wrap())
    }

    pub fn get(&self, hostname: &Hostname) -> Result<Option<Server>, StoreError> {
        self.0
            .conn()
            .prepare_cached("SELECT * FROM servers WHERE hostname = ?1")
            .and_then(|mut s| s.query_row([hostname.as_str()], server).optional())
            .map_err(self.0.wrap())
    }

    /// Those on which the run acts or last acted.
    pub fn by_run(&self, run: RunId) -> Result<Vec<Server>, StoreError> {
        self.0
            .conn()
            .prepare_cached("SELECT * FROM servers WHERE run_id = ?1")
            .and_then(|mut s| s.query_map([run.0], server)?.collect())
            .map_err(self.0.wrap())
    }

    /// Registers it; its compute units are inserted by
    /// [`ComputeUnits::insert`](super::compute_units::ComputeUnits::insert).
    pub fn insert(&self, new: &NewServer) -> Result<(), StoreError> {
        let now = self.0.now().0;
        self.0
            .conn()
            .execute(
                "INSERT INTO servers (hostname, private_ip, public_ip, port, admin_user, region,
                   zone, profile, status, health, vg, disks, disk_size_gb, adopt, tags, numa,
                   created_at, updated_at)
                 VALUES (:hostname, :private_ip, :public_ip, :port, :admin_user, :region,
                   :zone, :profile, :status, :health, :vg, :disks, :disk_size_gb, :adopt, :tags,
                   '{}', :now, :now)",
                named_params! {
                    ":hostname": new.hostname.as_str(),
                    ":private_ip": new.private_ip.to_string(),
                    ":public_ip": new.public_ip.map(|a| a.to_string()),
                    ":port": new.port,
                    ":admin_user": new.admin_user.as_str(),
                    ":region": new.region.as_str(),
                    ":zone": new.zone.as_str(),
                    ":profile": new.profile.as_str(),
                    ":status": ServerStatus::Registered.as_str(),
                    ":health": Health::Unknown.as_str(),
                    ":vg": new.storage.vg,
                    ":disks": serde_json::json!(new.storage.disks).to_string(),
                    ":disk_size_gb": new.storage.disk_size_gb,
                    ":adopt": new.adopt,
                    ":tags": serde_json::json!(new.tags).to_string(),
                    ":now": now,
                },
            )
            .map_err(self.0.wrap())?;
        self.0.events().append(
            NewEvent::new("server.added", subject(&new.hostname)).detail(serde_json::json!({
                "private_ip": new.private_ip,
                "public_ip": new.public_ip,
                "compute_units": new.compute_units,
            })),
        )
    }

    /// Changes where the volumes are wanted, before an init.
    pub fn set_storage(
        &self,
        hostname: &Hostname,
        wish: &StorageWish,
        adopt: bool,
    ) -> Result<(), StoreError> {
        self.0
            .conn()
            .execute(
                "UPDATE servers SET vg = ?2, disks = ?3, disk_size_gb = ?4, adopt = ?5,
                   updated_at = ?6 WHERE hostname = ?1",
                params![
                    hostname.as_str(),
                    wish.vg,
                    serde_json::json!(wish.disks).to_string(),
                    wish.disk_size_gb,
                    adopt,
                    self.0.now().0
                ],
            )
            .map_err(self.0.wrap())?;
        self.0.events().append(
            NewEvent::new("server.storage", subject(hostname))
                .detail(serde_json::json!({ "storage": wish, "adopt": adopt })),
        )
    }

    /// What an operator changed.
    pub fn edit(&self, before: &Server, after: &Server) -> Result<(), StoreError> {
        self.0
            .conn()
            .execute(
                "UPDATE servers SET private_ip = ?2, public_ip = ?3, port = ?4, admin_user = ?5,
                   region = ?6, zone = ?7, profile = ?8, tags = ?9, updated_at = ?10
                 WHERE hostname = ?1",
                params![
                    before.hostname.as_str(),
                    after.private_ip.to_string(),
                    after.public_ip.map(|a| a.to_string()),
                    after.port,
                    after.admin_user.as_str(),
                    after.region.as_str(),
                    after.zone.as_str(),
                    after.profile.as_str(),
                    serde_json::json!(after.tags).to_string(),
                    self.0.now().0
                ],
            )
            .map_err(self.0.wrap())?;
        let (from, to) = (serde_json::json!(before), serde_json::json!(after));
        let changes: serde_json::Map<String, serde_json::Value> = to
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(field, value)| from[field.as_str()] != **value)
            .map(|(field, value)| {
                let change = serde_json::json!({ "from": from[field.as_str()], "to": value });
                (field.clone(), change)
            })
            .collect();
        self.0.events().append(
            NewEvent::new("server.edited", subject(&before.hostname))
                .detail(serde_json::Value::Object(changes)),
        )
    }

    pub fn set_status(
        &self,
        hostname: &Hostname,
        change: Change<ServerStatus>,
        run: Option<RunId>,
        reason: Option<&str>,
    ) -> Result<(), StoreError> {
        let rows = self
            .0
            .conn()
            .execute(
                "UPDATE servers SET status = ?3, run_id = coalesce(?4, run_id),
                   status_reason = ?5, updated_at = ?6
                 WHERE hostname = ?1 AND status = ?2",
                params![
                    hostname.as_str(),
                    change.from().as_str(),
                    change.to().as_str(),
                    run.map(|r| r.0),
                    reason,
                    self.0.now().0
                ],
            )
            .map_err(self.0.wrap())?;
        self.0.status_event(
            "server.status",
            subject(hostname),
            change,
            run,
            reason,
            rows,
        )
    }

    /// What SERVER_INIT found.
    pub fn set_facts(&self, hostname: &Hostname, facts: &HostFacts) -> Result<(), StoreError> {
        self.0
            .conn()
            .execute(
                "UPDATE servers SET cpus = ?2, memory_mb = ?3, numa = ?4, host_vg = ?5,
                   updated_at = ?6 WHERE hostname = ?1",
                params![
                    hostname.as_str(),
                    facts.cpus,
                    facts.memory_mb.and_then(|n| i64::try_from(n).ok()),
                    serde_json::json!(facts.numa).to_string(),
                    facts.vg,
                    self.0.now().0
                ],
            )
            .map_err(self.0.wrap())?;
        self.0.events().append(
            NewEvent::new("server.facts", subject(hostname)).detail(serde_json::json!(facts)),
        )
    }

    /// Forgets it and its compute units.
    pub fn remove(&self, hostname: &Hostname, lost: bool) -> Result<(), StoreError> {
        self.0
            .conn()
            .execute(
                "DELETE FROM servers WHERE hostname = ?1",
                [hostname.as_str()],
            )
            .map_err(self.0.wrap())?;
        self.0.events().append(
            NewEvent::new("server.removed", subject(hostname))
                .detail(serde_json::json!({ "lost": lost })),
        )
    }
}

fn server(row: &Row<'_>) -> rusqlite::Result<Server> {
    Ok(Server {
        hostname: parsed(row, "hostname")?,
        private_ip: parsed(row, "private_ip")?,
        public_ip: parsed_option(row, "public_ip")?,
        port: row.get("port")?,
        admin_user: crate::domain::name::LoginUser::admin(&row.get::<_, String>("admin_user")?)
            .map_err(|e| super::values::damaged("admin_user", &e))?,
        region: parsed(row, "region")?,
        zone: parsed(row, "zone")?,
        profile: parsed(row, "profile")?,
        status: parsed(row, "status")?,
        health: parsed(row, "health")?,
        storage: StorageWish {
            vg: row.get("vg")?,
            disks: json(row, "disks")?,
            disk_size_gb: row.get("disk_size_gb")?,
        },
        adopt: row.get("adopt")?,
        tags: json(row, "tags")?,
        facts: HostFacts {
            cpus: row.get("cpus")?,
            memory_mb: row
                .get::<_, Option<i64>>("memory_mb")?
                .and_then(|n| u64::try_from(n).ok()),
            numa: json(row, "numa")?,
            vg: row.get("host_vg")?,
        },
        run_id: row.get::<_, Option<i64>>("run_id")?.map(RunId),
        status_reason: row.get("status_reason")?,
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
    })
}
