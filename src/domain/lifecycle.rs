//! The lifecycle operations, the playbook of each, and what they are given.

use serde_json::{Map, Value, json};

use crate::domain::allocation::Allocation;
use crate::domain::compute_unit::ComputeUnit;
use crate::domain::memory::MemoryLimits;
use crate::domain::server::Server;
use crate::domain::transition::status_enum;

status_enum! {
    /// Spelled as the packaged playbook's name.
    Lifecycle {
        ServerInit = "SERVER_INIT",
        ServerDecomm = "SERVER_DECOMM",
        AllocationCreate = "ALLOCATION_CREATE",
        AllocationDelete = "ALLOCATION_DELETE",
        AllocationScale = "ALLOCATION_SCALE",
    }
}

impl Lifecycle {
    /// The lifecycle whose playbook has this name.
    pub fn of_playbook(name: &str) -> Option<Lifecycle> {
        name.parse().ok()
    }

    /// The command that runs this playbook, for refusals.
    pub fn command(self) -> &'static str {
        match self {
            Lifecycle::ServerInit => "kloigos server init",
            Lifecycle::ServerDecomm => "kloigos server decommission",
            Lifecycle::AllocationCreate => "kloigos alloc create",
            Lifecycle::AllocationDelete => "kloigos alloc delete",
            Lifecycle::AllocationScale => "kloigos alloc scale",
        }
    }
}

/// What every playbook on one server gets.
pub fn common(server: &Server, owner_id: &str) -> Map<String, Value> {
    let mut v = Map::new();
    v.insert("hostname".into(), json!(server.hostname));
    v.insert("ansible_host".into(), json!(server.ansible_host()));
    v.insert("server_private_ip".into(), json!(server.private_ip));
    // Null when there is none, never absent.
    v.insert("server_public_ip".into(), json!(server.public_ip));
    v.insert("server_admin_user".into(), json!(server.admin_user));
    if server.port != 22 {
        v.insert("ansible_port".into(), json!(server.port));
    }
    v.insert("kloigos_owner_id".into(), json!(owner_id));
    v
}

pub fn server_init(server: &Server, units: &[ComputeUnit], owner_id: &str) -> Map<String, Value> {
    let mut v = common(server, owner_id);
    let units: Vec<Value> = units
        .iter()
        .map(|u| {
            json!({
                "ordinal": u.ordinal,
                "cpu_range": u.cpu_range.as_str(),
                "cpu_set": u.cpu_range.cpu_set(),
                "cpu_count": u.cpu_count,
                "compute_id": u.id,
                "storage_mount_path": u.storage_path(),
            })
        })
        .collect();
    v.insert("runtime_profile".into(), json!(server.profile));
    v.insert("disk_size_gb".into(), json!(server.storage.disk_size_gb));
    v.insert("compute_units".into(), json!(units));
    v.insert("kloigos_vg".into(), json!(server.storage.vg));
    v.insert("kloigos_disks".into(), json!(server.storage.disks));
    v.insert("kloigos_adopt".into(), json!(server.adopt));
    v
}

/// SERVER_DECOMM. `purge_packages`: those that SERVER_INIT brought go too.
pub fn server_decomm(server: &Server, owner_id: &str, purge_packages: bool) -> Map<String, Value> {
    let mut v = common(server, owner_id);
    v.insert("kloigos_purge_packages".into(), json!(purge_packages));
    v
}

/// ALLOCATION_CREATE.
pub fn allocation_create(
    allocation: &Allocation,
    unit: &ComputeUnit,
    server: &Server,
    owner_id: &str,
) -> Map<String, Value> {
    let mut v = allocation_delete(allocation, unit, server, owner_id);
    v.insert("ssh_public_key".into(), json!(allocation.ssh_public_key));
    v
}

/// ALLOCATION_DELETE: the same without the key.
pub fn allocation_delete(
    allocation: &Allocation,
    unit: &ComputeUnit,
    server: &Server,
    owner_id: &str,
) -> Map<String, Value> {
    let mut v = common(server, owner_id);
    v.insert("allocation_id".into(), json!(allocation.id));
    v.insert("compute_id".into(), json!(unit.id));
    v.insert("private_ip".into(), json!(allocation.ip_address));
    v.insert("allocation_ip_address".into(), json!(allocation.ip_address));
    v.insert("login_user".into(), json!(allocation.login_user));
    v.insert(
        "compute_unit_storage_mount_path".into(),
        json!(unit.storage_path()),
    );
    v.insert("cpu_range".into(), json!(unit.cpu_range.as_str()));
    v.insert("cpu_set".into(), json!(unit.cpu_range.cpu_set()));
    v.insert("cpu_count".into(), json!(unit.cpu_count));
    v.insert("kloigos_login_uid".into(), json!(allocation.uid));
    let limits = match (server.facts.memory_mb, server.facts.cpus) {
        (Some(mb), Some(cpus)) => Some(MemoryLimits::for_share(mb, unit.cpu_count, cpus)),
        // An operator's own SERVER_INIT need not return facts; the playbook
        // then takes them from the host by the same rule.
        _ => None,
    };
    v.insert(
        "kloigos_memory_high_mb".into(),
        json!(limits.map(|l| l.high_mb)),
    );
    v.insert(
        "kloigos_memory_max_mb".into(),
        json!(limits.map(|l| l.max_mb)),
    );
    v.insert("kloigos_numa_node".into(), json!(unit.numa_node));
    v
}
