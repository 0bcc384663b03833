//! What a check of a lifecycle playbook is given by the store, so that a new
//! version can be tried on one host without all of its variables by hand.

use serde_json::{Map, Value};

use crate::domain::lifecycle::{self as given, Lifecycle};
use crate::domain::name::{AllocationId, Hostname, PlaybookName};
use crate::domain::request::Asked;
use crate::domain::server::Server;
use crate::error::{Error, Kind};
use crate::ops::allocations;
use crate::store::Tx;

/// Adds the variables, and the host where an allocation tells it. What is given
/// by hand wins over them; where it is all given by hand, there is nothing to
/// add.
pub(super) fn fill(tx: &Tx<'_>, playbook: &PlaybookName, asked: &mut Asked) -> Result<(), Error> {
    // A run that is repeated has what it had.
    if !asked.check || asked.again.is_some() {
        return Ok(());
    }
    let Some(lifecycle) = Lifecycle::of_playbook(playbook.as_str()) else {
        return Ok(());
    };
    asked.store_variables = match lifecycle {
        Lifecycle::ServerInit | Lifecycle::ServerDecomm => of_server(tx, lifecycle, asked)?,
        Lifecycle::AllocationCreate | Lifecycle::AllocationDelete => {
            of_allocation(tx, lifecycle, asked)?
        }
        // Two servers and a target that only `alloc scale` chooses.
        Lifecycle::AllocationScale => Map::new(),
    };
    Ok(())
}

/// Whether the variables come from elsewhere: files and inventories may have
/// them all.
fn by_hand(asked: &Asked, variable: &str) -> bool {
    asked.inventory.is_some()
        || !asked.variable_files.is_empty()
        || asked.variables.contains_key(variable)
        || asked.secrets.iter().any(|name| name == variable)
}

fn registered(tx: &Tx<'_>, host: &str) -> Result<Option<Server>, Error> {
    match Hostname::parse(host) {
        Ok(name) => Ok(tx.servers().get(&name)?),
        Err(_) => Ok(None),
    }
}

fn of_server(
    tx: &Tx<'_>,
    lifecycle: Lifecycle,
    asked: &Asked,
) -> Result<Map<String, Value>, Error> {
    let told = match asked.hosts.as_slice() {
        [host] => registered(tx, host)?,
        _ => None,
    };
    let Some(server) = told else {
        if by_hand(asked, "hostname") {
            return Ok(Map::new());
        }
        let why = match asked.hosts.as_slice() {
            [] => "no server is named".to_owned(),
            [host] => format!("{host} is no registered server"),
            hosts => format!("{} hosts are named", hosts.len()),
        };
        return Err(Error::usage(format!(
            "cannot tell the variables of {lifecycle}: {why}; give one registered server with --host"
        ))
        .hint("`kloigos server list` shows them; with `-e hostname=…` all variables are given by hand"));
    };
    let owner = tx.owner_id()?;
    Ok(match lifecycle {
        Lifecycle::ServerInit => {
            let units = tx.compute_units().list(Some(&server.hostname))?;
            given::server_init(&server, &units, &owner)
        }
        _ => given::server_decomm(&server, &owner, false),
    })
}

fn of_allocation(
    tx: &Tx<'_>,
    lifecycle: Lifecycle,
    asked: &mut Asked,
) -> Result<Map<String, Value>, Error> {
    let named = asked.variables.get("allocation_id").and_then(Value::as_str);
    let Some(named) = named else {
        if by_hand(asked, "login_user") {
            return Ok(Map::new());
        }
        return Err(Error::usage(format!(
            "cannot tell the variables of {lifecycle}: no allocation is named; give one with -e allocation_id=ID"
        ))
        .hint("`kloigos alloc list` shows them"));
    };
    let id = AllocationId::parse(named)?;
    let allocation = match allocations::find(tx, &id) {
        Ok(allocation) => allocation,
        Err(_) if by_hand(asked, "login_user") => return Ok(Map::new()),
        Err(e) => return Err(e),
    };
    if !allocation.is_live() {
        return Err(Error::new(
            Kind::WrongState,
            format!(
                "cannot check {lifecycle} on allocation {id}: it is {}",
                allocation.status
            ),
        )
        .hint("`kloigos alloc list` shows those that are there"));
    }
    let (unit, server) = allocations::placement_of(tx, &allocation)?;
    let on_server = |host: &String| *host == server.hostname.as_str();
    if !asked.hosts.iter().all(on_server) {
        return Err(Error::usage(format!(
            "cannot check {lifecycle} on {}: allocation {id} is on {}",
            asked.hosts.join(", "),
            server.hostname
        ))
        .hint("without --host its server is taken"));
    }
    if asked.hosts.is_empty() && asked.inventory.is_none() {
        asked.hosts.push(server.hostname.to_string());
    }
    let owner = tx.owner_id()?;
    Ok(match lifecycle {
        Lifecycle::AllocationCreate => {
            given::allocation_create(&allocation, &unit, &server, &owner)
        }
        _ => given::allocation_delete(&allocation, &unit, &server, &owner),
    })
}
