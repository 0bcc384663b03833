//! A unit, an address and a UID for a new allocation.

use std::net::IpAddr;

use super::{NewAllocation, by_key};
use crate::domain::allocation::Allocation;
use crate::domain::compute_unit::{ComputeUnit, CuStatus};
use crate::domain::ip::PoolAddress;
use crate::domain::name::{AllocationId, LoginUser};
use crate::domain::placement::{self, Wish};
use crate::domain::server::{Server, ServerStatus};
use crate::domain::settings::{self, ALLOC_UID_RANGE};
use crate::error::{Error, Kind};
use crate::ops::{addresses, compute_units, servers};
use crate::store::Tx;
use crate::store::allocations::NewRow;

/// Writes the allocation, REQUESTED, with its unit and address taken.
pub(super) fn reserve(tx: &Tx<'_>, new: &NewAllocation) -> Result<Allocation, Error> {
    let id = match &new.id {
        Some(id) => id.clone(),
        None => AllocationId::numbered(tx.allocations().next_number()?),
    };
    if tx.allocations().get(&id)?.is_some_and(|a| a.is_live()) {
        return Err(
            Error::new(Kind::Exists, format!("allocation {id} already exists"))
                .hint(format!("`kloigos alloc show {id}` shows it")),
        );
    }
    let user = match &new.user {
        Some(user) => user.clone(),
        None => LoginUser::parse(id.as_str()).map_err(|e| {
            Error::from(e).hint("the id is the default login user; name another with --user")
        })?,
    };
    if let Some(other) = tx.allocations().by_user(&user)? {
        return Err(Error::new(
            Kind::Exists,
            format!("login user {user} belongs to allocation {}", other.id),
        )
        .hint("name another with --user"));
    }
    let unit = choose_unit(tx, &new.wish, &user)?;
    let address = choose_address(tx, new.address)?;
    let uid = choose_uid(tx)?;
    let key = tx.allocations().insert(&NewRow {
        id: &id,
        login_user: &user,
        uid,
        ip_address: address.address,
        compute_unit: &unit.id,
        server: &unit.server,
        ssh_public_key: new.key.as_str(),
        tags: &new.tags,
    })?;
    tx.compute_units()
        .set_status(&unit.id, unit.reserve()?, Some(key), None)?;
    tx.addresses()
        .set_status(address.address, address.reserve()?, Some(key), None)?;
    by_key(tx, key)
}

fn choose_unit(tx: &Tx<'_>, wish: &Wish, user: &LoginUser) -> Result<ComputeUnit, Error> {
    if let Some(id) = &wish.unit {
        let unit = compute_units::find(tx, id)?;
        let server = servers::find(tx, &unit.server)?;
        if server.status != ServerStatus::Ready {
            return Err(Error::new(
                Kind::WrongState,
                format!(
                    "cannot allocate compute unit {id}: its server {} is {}",
                    server.hostname, server.status
                ),
            )
            .hint(format!(
                "`kloigos server init {}` makes it READY",
                server.hostname
            )));
        }
        let _ = unit.reserve()?;
    }
    let mut candidates = tx.compute_units().candidates()?;
    // The tenant must not become the server's administrator.
    for server in tx.servers().list()? {
        if server.admin_user == *user {
            candidates.retain(|c| c.unit.server != server.hostname);
        }
    }
    if let Some(chosen) = placement::choose(wish, &candidates) {
        return Ok(chosen.unit.clone());
    }
    let mut not_ready = Vec::new();
    for server in tx.servers().list()? {
        if server.status != ServerStatus::Ready
            && tx
                .compute_units()
                .list(Some(&server.hostname))?
                .iter()
                .any(|u| u.status == CuStatus::Free)
        {
            not_ready.push(server);
        }
    }
    Err(no_unit(wish, &candidates, &not_ready))
}

/// Says which part of the wish nothing fulfils, and which servers would have
/// units if they were READY.
fn no_unit(wish: &Wish, candidates: &[placement::Candidate], not_ready: &[Server]) -> Error {
    let mut wanted = Vec::new();
    if let Some(n) = wish.cpus {
        wanted.push(format!("with {n} CPU(s)"));
    }
    if let Some(r) = &wish.region {
        wanted.push(format!("in region {r}"));
    }
    if let Some(z) = &wish.zone {
        wanted.push(format!("in zone {z}"));
    }
    if let Some(u) = &wish.unit {
        wanted.push(format!("named {u}"));
    }
    let free = candidates
        .iter()
        .filter(|c| c.unit.status == CuStatus::Free)
        .count();
    let mut message = match (wanted.as_slice(), free) {
        ([], _) => "no compute unit is free on a READY server".to_owned(),
        (wanted, 0) => format!(
            "no compute unit is free on a READY server, none {} either",
            wanted.join(" ")
        ),
        (wanted, free) => format!(
            "no free compute unit {} on a READY server ({free} of another kind are free)",
            wanted.join(" ")
        ),
    };
    let Some(first) = not_ready.first() else {
        return Error::new(Kind::NoCapacity, message)
            .hint("`kloigos cu list` shows every unit and its state");
    };
    let list: Vec<String> = not_ready
        .iter()
        .map(|s| format!("{} is {}", s.hostname, s.status))
        .collect();
    message.push_str(&format!("; server {}", list.join(", server ")));
    Error::new(Kind::NoCapacity, message).hint(format!(
        "`kloigos server init {}` makes it READY",
        first.hostname
    ))
}

fn choose_address(tx: &Tx<'_>, wanted: Option<IpAddr>) -> Result<PoolAddress, Error> {
    if let Some(wanted) = wanted {
        let address = addresses::find(tx, wanted)?;
        let _ = address.reserve()?;
        return Ok(address);
    }
    tx.addresses().first_free()?.ok_or_else(|| {
        let pool_is_empty = tx.addresses().list(None).is_ok_and(|pool| pool.is_empty());
        let message = if pool_is_empty {
            "the IP pool is empty"
        } else {
            "no address of the IP pool is free"
        };
        Error::new(Kind::NoCapacity, message).hint("`kloigos ip add FIRST-LAST` adds addresses")
    })
}

fn choose_uid(tx: &Tx<'_>) -> Result<u32, Error> {
    let text = tx.settings().value(&ALLOC_UID_RANGE)?;
    let (first, last) = settings::uid_range(&text)
        .ok_or_else(|| Error::usage(format!("setting {ALLOC_UID_RANGE} is `{text}`")))?;
    tx.allocations().free_uid(first, last)?.ok_or_else(|| {
        Error::new(Kind::NoCapacity, format!("no UID of {text} is free")).hint(format!(
            "`kloigos setting set {ALLOC_UID_RANGE} FIRST-LAST` widens the range"
        ))
    })
}
