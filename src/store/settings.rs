//! Settings that differ from their defaults.

use std::num::ParseIntError;

use rusqlite::{OptionalExtension, params};

use super::values::damaged;
use super::{StoreError, Tx};
use crate::domain::event::NewEvent;
use crate::domain::settings::Definition;

pub struct Settings<'t>(pub(in crate::store) &'t Tx<'t>);

impl Settings<'_> {
    /// The value in force: the stored one, else the default.
    pub fn value(&self, definition: &Definition) -> Result<String, StoreError> {
        Ok(self
            .stored(definition)?
            .unwrap_or_else(|| definition.default.to_owned()))
    }

    /// That of a count or number.
    pub fn number(&self, definition: &Definition) -> Result<u32, StoreError> {
        self.value(definition)?
            .parse()
            .map_err(|e: ParseIntError| self.0.wrap()(damaged(definition.name, &e)))
    }

    pub fn flag(&self, definition: &Definition) -> Result<bool, StoreError> {
        Ok(self.value(definition)? == "true")
    }

    pub fn stored(&self, definition: &Definition) -> Result<Option<String>, StoreError> {
        self.0
            .conn()
            .prepare_cached("SELECT value FROM settings WHERE name = ?1")
            .and_then(|mut s| s.query_row([definition.name], |r| r.get(0)).optional())
            .map_err(self.0.wrap())
    }

    /// `value` has passed [`Definition::check`].
    pub fn set(&self, definition: &Definition, value: &str) -> Result<(), StoreError> {
        self.0
            .conn()
            .execute(
                "INSERT INTO settings (name, value, updated_at) VALUES (?1, ?2, ?3)
                 ON CONFLICT (name) DO UPDATE SET value = excluded.value,
                   updated_at = excluded.updated_at",
                params![definition.name, value, self.0.now().0],
            )
            .map_err(self.0.wrap())?;
        let shown = if definition.secret { "(secret)" } else { value };
        self.0.events().append(
            NewEvent::new("setting.set", format!("setting {}", definition.name))
                .detail(serde_json::json!({ "value": shown })),
        )
    }

    pub fn reset(&self, definition: &Definition) -> Result<(), StoreError> {
        let rows = self
            .0
            .conn()
            .execute("DELETE FROM settings WHERE name = ?1", [definition.name])
            .map_err(self.0.wrap())?;
        if rows == 0 {
            return Ok(());
        }
        self.0.events().append(NewEvent::new(
            "setting.reset",
            format!("setting {}", definition.name),
        ))
    }
}
