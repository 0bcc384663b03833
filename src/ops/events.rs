//! The audit log.

use super::{EventFilter, Services};
use crate::domain::event::Event;
use crate::error::Error;

/// Newest first.
pub fn list(services: &Services<'_>, filter: &EventFilter) -> Result<Vec<Event>, Error> {
    services.store.read(|tx| Ok(tx.events().list(filter)?))
}
