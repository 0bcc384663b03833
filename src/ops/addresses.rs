//! The pool of floating addresses.

use std::net::IpAddr;

use serde::Serialize;

use super::Services;
use crate::domain::ip::{IpStatus, PoolAddress};
use crate::error::{Error, Kind};
use crate::store::Tx;

#[derive(Debug, Clone, Serialize)]
pub struct Added {
    pub added: Vec<IpAddr>,
    /// They were in the pool before.
    pub already: Vec<IpAddr>,
}

pub(super) fn find(tx: &Tx<'_>, address: IpAddr) -> Result<PoolAddress, Error> {
    tx.addresses().get(address)?.ok_or_else(|| {
        Error::not_found(format!("address {address} is not in the pool"))
            .hint("`kloigos ip list` shows the pool")
    })
}

/// All or none. Addresses already there are no error unless nothing is new.
pub fn add(services: &Services<'_>, addresses: Vec<IpAddr>) -> Result<Added, Error> {
    services.store.write(|tx| {
        for server in tx.servers().list()? {
            let own = |a: &&IpAddr| **a == server.private_ip || Some(**a) == server.public_ip;
            if let Some(address) = addresses.iter().find(own) {
                return Err(Error::new(
                    Kind::Exists,
                    format!(
                        "{address} is server {}'s own address, not a floating one",
                        server.hostname
                    ),
                ));
            }
        }
        let (mut added, mut already) = (Vec::new(), Vec::new());
        for address in addresses {
            if tx.addresses().insert(address)? {
                added.push(address);
            } else if !added.contains(&address) {
                already.push(address);
            }
        }
        if added.is_empty() {
            let list: Vec<String> = already.iter().map(IpAddr::to_string).collect();
            return Err(Error::new(
                Kind::Exists,
                format!("already in the pool: {}", list.join(", ")),
            ));
        }
        Ok(Added { added, already })
    })
}

/// In the order of addresses.
pub fn list(services: &Services<'_>, status: Option<IpStatus>) -> Result<Vec<PoolAddress>, Error> {
    services.store.read(|tx| Ok(tx.addresses().list(status)?))
}

/// All or none: an address in use stops the whole removal.
pub fn remove(services: &Services<'_>, addresses: Vec<IpAddr>) -> Result<Vec<IpAddr>, Error> {
    services.store.write(|tx| {
        for address in &addresses {
            find(tx, *address)?.may_remove()?;
            tx.addresses().remove(*address)?;
        }
        Ok(addresses)
    })
}
