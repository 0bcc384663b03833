//! All SQL. One [`Store`] a process, short transactions, one file a table
//! family.
//!
//! Writers use immediate transactions under a busy timeout, so that two
//! processes wait for each other instead of failing; each change writes its
//! audit event in the same transaction. A status is written only from a
//! [`Change`](crate::domain::transition::Change) of the domain, as a
//! compare-and-set on the status that it starts from.

pub mod addresses;
pub mod allocations;
pub mod claims;
pub mod compute_units;
mod error;
pub mod events;
mod open;
pub mod playbooks;
pub mod runs;
pub mod servers;
pub mod settings;
mod values;

use std::path::PathBuf;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::clock::Clock;
use crate::domain::event::NewEvent;
use crate::domain::run::RunId;
use crate::domain::transition::Change;

pub use error::StoreError;
pub use open::{Migrated, SCHEMA_VERSION, migrate, open_memory, open_reader, open_writer};

/// An open store of the schema that this build knows.
pub struct Store {
    conn: Connection,
    path: PathBuf,
    clock: Clock,
    /// Written into each event.
    actor: String,
}

impl Store {
    /// One consistent snapshot. Takes no lock that a writer would feel.
    pub fn read<T, E: From<StoreError>>(
        &self,
        f: impl FnOnce(&Tx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.transaction(TransactionBehavior::Deferred, f)
    }

    /// All or nothing: when `f` fails, nothing is changed.
    pub fn write<T, E: From<StoreError>>(
        &self,
        f: impl FnOnce(&Tx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.transaction(TransactionBehavior::Immediate, f)
    }

    fn transaction<T, E: From<StoreError>>(
        &self,
        behavior: TransactionBehavior,
        f: impl FnOnce(&Tx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let wrap = |e| StoreError::from_sqlite(e, &self.path);
        // `new_unchecked` because a `Store` is shared by reference; a nested
        // call fails at BEGIN and is a bug that tests would meet at once.
        let inner = Transaction::new_unchecked(&self.conn, behavior).map_err(wrap)?;
        let tx = Tx { inner, store: self };
        let value = f(&tx)?;
        tx.inner.commit().map_err(wrap)?;
        Ok(value)
    }
}

/// A transaction, with a door to each table family.
pub struct Tx<'s> {
    inner: Transaction<'s>,
    store: &'s Store,
}

impl Tx<'_> {
    pub(in crate::store) fn conn(&self) -> &Connection {
        &self.inner
    }

    /// The time of this transaction's changes.
    pub fn now(&self) -> crate::domain::time::Timestamp {
        self.store.clock.now()
    }

    /// For `map_err`: names the database file.
    pub(in crate::store) fn wrap(&self) -> impl Fn(rusqlite::Error) -> StoreError + '_ {
        |e| StoreError::from_sqlite(e, &self.store.path)
    }

    /// The id that hosts carry as their owner stamp.
    pub fn owner_id(&self) -> Result<String, StoreError> {
        self.inner
            .query_row("SELECT id FROM store_identity", [], |r| r.get(0))
            .map_err(self.wrap())
    }

    /// Ends every status change: one row must have changed (else another
    /// process was first), and the change is on record.
    pub(in crate::store) fn status_event<S: Copy + std::fmt::Display>(
        &self,
        kind: &'static str,
        subject: String,
        change: Change<S>,
        run: Option<RunId>,
        reason: Option<&str>,
        rows: usize,
    ) -> Result<(), StoreError> {
        if rows != 1 {
            return Err(StoreError::Conflict { subject });
        }
        let mut event = NewEvent::new(kind, subject).detail(serde_json::json!({
            "from": change.from().to_string(),
            "to": change.to().to_string(),
            "reason": reason,
        }));
        event.run_id = run;
        self.events().append(event)
    }

    pub fn servers(&self) -> servers::Servers<'_> {
        servers::Servers(self)
    }
    pub fn compute_units(&self) -> compute_units::ComputeUnits<'_> {
        compute_units::ComputeUnits(self)
    }
    pub fn addresses(&self) -> addresses::Addresses<'_> {
        addresses::Addresses(self)
    }
    pub fn allocations(&self) -> allocations::Allocations<'_> {
        allocations::Allocations(self)
    }
    pub fn playbooks(&self) -> playbooks::Playbooks<'_> {
        playbooks::Playbooks(self)
    }
    pub fn runs(&self) -> runs::Runs<'_> {
        runs::Runs(self)
    }
    pub fn claims(&self) -> claims::Claims<'_> {
        claims::Claims(self)
    }
    pub fn settings(&self) -> settings::Settings<'_> {
        settings::Settings(self)
    }
    pub fn events(&self) -> events::Events<'_> {
        events::Events(self)
    }
}
