//! A server's record, changed by its operator.

use super::register::{self, check_addresses};
use super::{act, find, live_on};
use crate::domain::cpu::CpuRange;
use crate::domain::name::Hostname;
use crate::domain::report::{Report, Reporter};
use crate::domain::server::{Server, ServerEdit};
use crate::error::{Error, Kind};
use crate::ops::{Done, LifecycleOptions, Services};
use crate::runner;
use crate::store::Tx;

/// What became of an edit.
pub enum Edited {
    /// Only the record changed.
    Record(Server),
    /// The host followed, or failed to.
    Host(Done<Server>),
}

/// Changes the record. New compute units and another profile need SERVER_INIT
/// too: the units become free only with its success, since the server is not
/// READY before.
pub fn edit(
    services: &Services<'_>,
    hostname: &Hostname,
    edit: &ServerEdit,
    options: &LifecycleOptions,
    reporter: &mut dyn Reporter,
) -> Result<Edited, Error> {
    let before = services.store.read(|tx| {
        check(tx, hostname, edit)?;
        find(tx, hostname)
    })?;
    let after = edit.of(&before);
    if (after.ansible_host(), after.port) != (before.ansible_host(), before.port) {
        meet_again(services, &before, &after, reporter);
    }
    if edit.needs_init(&before) {
        let done = act::init_after(
            services,
            hostname,
            &|tx| apply(tx, hostname, edit),
            options,
            reporter,
        )?;
        return Ok(Edited::Host(done));
    }
    let server = services.store.write(|tx| {
        apply(tx, hostname, edit)?;
        find(tx, hostname)
    })?;
    Ok(Edited::Record(server))
}

fn check(tx: &Tx<'_>, hostname: &Hostname, edit: &ServerEdit) -> Result<(), Error> {
    let server = find(tx, hostname)?;
    server.may_edit()?;
    let after = edit.of(&server);
    check_addresses(
        tx,
        hostname,
        [Some(after.private_ip), after.public_ip],
        after.port,
    )?;
    if let Some(tenant) = live_on(tx, hostname)?
        .into_iter()
        .find(|a| a.login_user == after.admin_user)
    {
        return Err(Error::new(
            Kind::Exists,
            format!(
                "{} is the login user of allocation {} on {hostname}, not its administrator",
                after.admin_user, tenant.id
            ),
        ));
    }
    let mut ranges: Vec<CpuRange> = tx
        .compute_units()
        .list(Some(hostname))?
        .into_iter()
        .map(|u| u.cpu_range)
        .collect();
    ranges.extend(edit.compute_units.iter().cloned());
    CpuRange::disjoint(&ranges)?;
    if let Some(cpus) = server.facts.cpus {
        for range in &edit.compute_units {
            range.within(cpus)?;
        }
    }
    Ok(())
}

fn apply(tx: &Tx<'_>, hostname: &Hostname, edit: &ServerEdit) -> Result<(), Error> {
    check(tx, hostname, edit)?;
    let before = find(tx, hostname)?;
    let after = edit.of(&before);
    if after != before {
        tx.servers().edit(&before, &after)?;
    }
    let next = tx
        .compute_units()
        .list(Some(hostname))?
        .last()
        .map_or(0, |u| u.ordinal + 1);
    for (ordinal, range) in (next..).zip(&edit.compute_units) {
        tx.compute_units().insert(hostname, ordinal, range)?;
    }
    Ok(())
}

/// The key at a new address, which a machine that only moved brings along.
fn meet_again(
    services: &Services<'_>,
    before: &Server,
    after: &Server,
    reporter: &mut dyn Reporter,
) {
    let known = |server: &Server| {
        runner::known_host_keys(
            services.env,
            services.paths,
            server.ansible_host(),
            server.port,
        )
        .unwrap_or_default()
    };
    register::meet(services, after, reporter);
    let (old, new) = (known(before), known(after));
    if !old.is_empty() && !new.is_empty() && !new.iter().any(|k| old.contains(k)) {
        reporter.report(&Report::Warning(format!(
            "the machine at {} has none of the host keys that {} had at {}: is it the same one?",
            after.ansible_host(),
            before.hostname,
            before.ansible_host()
        )));
    }
}
