//! Which version is the default, and back again.

use serde::Serialize;

use super::find;
use crate::domain::name::PlaybookName;
use crate::error::{Error, Kind};
use crate::ops::Services;
use crate::store::Tx;

#[derive(Debug, Clone, Serialize)]
pub struct DefaultChange {
    pub name: PlaybookName,
    /// The default version now.
    pub version: u32,
    /// The one before this command.
    pub previous: u32,
    /// False when it was the default already.
    pub changed: bool,
}

fn current(tx: &Tx<'_>, name: &PlaybookName) -> Result<u32, Error> {
    Ok(find(tx, name, None)?.version)
}

/// Runs that are queued or in progress keep the version that they have.
pub fn set_default(
    services: &Services<'_>,
    name: &PlaybookName,
    version: u32,
) -> Result<DefaultChange, Error> {
    services.store.write(|tx| {
        let previous = current(tx, name)?;
        let version = find(tx, name, Some(version))?.version;
        if version != previous {
            tx.playbooks().set_default(name, version)?;
        }
        Ok(DefaultChange {
            name: name.clone(),
            version,
            previous,
            changed: version != previous,
        })
    })
}

/// Back to the previous default, or to the version `to`. A second rollback goes
/// one further back: never forward to what the first has left.
pub fn roll_back(
    services: &Services<'_>,
    name: &PlaybookName,
    to: Option<u32>,
) -> Result<DefaultChange, Error> {
    services.store.write(|tx| {
        let previous = current(tx, name)?;
        let version = match to {
            Some(to) => find(tx, name, Some(to))?.version,
            None => tx.playbooks().previous_default(name)?.ok_or_else(|| {
                Error::new(
                    Kind::WrongState,
                    format!(
                        "cannot roll back {name}: no other version than {previous} was the default before"
                    ),
                )
                .hint(format!(
                    "`kloigos playbook versions {name}` shows them, `kloigos playbook set-default {name} N` chooses one"
                ))
            })?,
        };
        if version != previous {
            tx.playbooks().roll_back(name, version)?;
        }
        Ok(DefaultChange {
            name: name.clone(),
            version,
            previous,
            changed: version != previous,
        })
    })
}
