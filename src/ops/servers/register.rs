//! A new server: registered, its host key learned.

use std::net::IpAddr;

use super::find;
use crate::domain::name::Hostname;
use crate::domain::report::{Report, Reporter};
use crate::domain::server::{NewServer, Server};
use crate::error::{Error, Kind};
use crate::ops::Services;
use crate::runner;
use crate::store::Tx;

/// Registers the server and its compute units, and learns its host key.
pub fn add(
    services: &Services<'_>,
    new: NewServer,
    reporter: &mut dyn Reporter,
) -> Result<Server, Error> {
    new.check()?;
    check_storage_names(new.storage.vg.as_deref(), &new.storage.disks)?;
    let server = services.store.write(|tx| {
        if let Some(other) = tx.servers().get(&new.hostname)? {
            return Err(taken(
                &other,
                format!("server {} exists already", other.hostname),
            ));
        }
        check_addresses(
            tx,
            &new.hostname,
            [Some(new.private_ip), new.public_ip],
            new.port,
        )?;
        tx.servers().insert(&new)?;
        for (ordinal, range) in (0u32..).zip(&new.compute_units) {
            tx.compute_units().insert(&new.hostname, ordinal, range)?;
        }
        find(tx, &new.hostname)
    })?;
    meet(services, &server, reporter);
    Ok(server)
}

/// A host that shows no key now is told, and met by its first run.
pub(super) fn meet(services: &Services<'_>, server: &Server, reporter: &mut dyn Reporter) {
    if let Err(e) = learn_host_key(services, server, reporter) {
        reporter.report(&Report::Warning(format!(
            "no host key of {} yet: {e}",
            server.hostname
        )));
    }
}

/// What is wrong with `other` can be changed there.
fn taken(other: &Server, what: String) -> Error {
    Error::new(Kind::Exists, what).hint(format!(
        "`kloigos server show {0}` shows it; if what it has is wrong, `kloigos server edit {0}` changes it",
        other.hostname
    ))
}

/// One machine must not be two servers, and an address of the pool moves from
/// server to server with its tenant.
///
/// `addresses`: the private and the public one.
pub(super) fn check_addresses(
    tx: &Tx<'_>,
    hostname: &Hostname,
    addresses: [Option<IpAddr>; 2],
    port: u16,
) -> Result<(), Error> {
    for other in tx.servers().list()? {
        if other.hostname != *hostname
            && let Some(what) = clash(addresses, port, &other)
        {
            return Err(taken(&other, what));
        }
    }
    for ip in addresses.into_iter().flatten() {
        if let Some(address) = tx.addresses().get(ip)? {
            let whose = match address.allocation {
                Some(id) => format!("the floating address of allocation {id}"),
                None => "a floating address of the IP pool".to_owned(),
            };
            return Err(Error::new(
                Kind::Exists,
                format!("{ip} is {whose}, not one of a server's own"),
            )
            .hint("give the server's own address, or `kloigos ip remove` takes a free one out of the pool"));
        }
    }
    Ok(())
}

/// Only a public address may be shared, by machines that one address forwards
/// to from different ports.
fn clash([private, public]: [Option<IpAddr>; 2], port: u16, other: &Server) -> Option<String> {
    let name = &other.hostname;
    if let Some(ip) = public
        && (public, port) == (other.public_ip, other.port)
    {
        return Some(format!("server {name} already has {ip} port {port}"));
    }
    let shared = private
        .filter(|ip| *ip == other.private_ip || Some(*ip) == other.public_ip)
        .or(public.filter(|ip| *ip == other.private_ip))?;
    Some(format!("server {name} already has the address {shared}"))
}

/// The key that the host shows at first contact is accepted and told, so that
/// a later change is refused.
pub(super) fn learn_host_key(
    services: &Services<'_>,
    server: &Server,
    reporter: &mut dyn Reporter,
) -> Result<(), Error> {
    let keys = runner::learn_host_key(
        services.env,
        services.paths,
        server.ansible_host(),
        server.port,
    )?;
    if !keys.is_empty() {
        reporter.report(&Report::Note(format!(
            "accepted the host key of {}: {}",
            server.hostname,
            keys.join(", ")
        )));
    }
    Ok(())
}

pub(super) fn check_storage_names(vg: Option<&str>, disks: &[String]) -> Result<(), Error> {
    // lvm(8): letters, digits and + _ . -, not beginning with a hyphen.
    let vg_ok = |name: &str| {
        (1..=127).contains(&name.len())
            && !name.starts_with('-')
            && !matches!(name, "." | "..")
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'_' | b'.' | b'-'))
    };
    if let Some(name) = vg.filter(|name| !vg_ok(name)) {
        return Err(Error::usage(format!(
            "`{}` is not a volume group's name: letters, digits and `+_.-`, not beginning with a hyphen",
            name.escape_debug()
        )));
    }
    if let Some(disk) = disks.iter().find(|d| {
        !d.starts_with("/dev/")
            || d.contains("..")
            || d.chars().any(|c| c.is_control() || c.is_whitespace())
    }) {
        return Err(Error::usage(format!(
            "`{}` is not a disk: give its device path, as in /dev/vdb",
            disk.escape_debug()
        )));
    }
    Ok(())
}
