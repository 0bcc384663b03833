//! What Ansible wrote, piece by piece.

use std::ops::ControlFlow;

use rusqlite::params;

use super::{Runs, signed};
use crate::domain::run::RunId;
use crate::domain::run_event::OutputStream;
use crate::store::StoreError;
use crate::store::values::parsed;

impl Runs<'_> {
    pub fn add_output(
        &self,
        id: RunId,
        seq: u64,
        stream: OutputStream,
        text: &str,
    ) -> Result<(), StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "INSERT INTO run_output (run_id, seq, stream, text) VALUES (?1, ?2, ?3, ?4)",
            )
            .and_then(|mut s| s.execute(params![id.0, signed(seq), stream.as_str(), text]))
            .map_err(self.0.wrap())?;
        Ok(())
    }

    /// All that is stored, until `f` breaks.
    pub fn output(
        &self,
        id: RunId,
        f: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.output_after(id, None, &mut |_, _, text| f(text))
    }

    /// What was stored after the piece `last`, with the number of each piece,
    /// until `f` breaks.
    pub fn output_after(
        &self,
        id: RunId,
        last: Option<i64>,
        f: &mut dyn FnMut(i64, OutputStream, &str) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "SELECT seq, stream, text FROM run_output WHERE run_id = ?1 AND seq > ?2
                 ORDER BY seq",
            )
            .and_then(|mut s| {
                let mut rows = s.query(params![id.0, last.unwrap_or(-1)])?;
                while let Some(row) = rows.next()? {
                    let text: String = row.get("text")?;
                    if f(row.get("seq")?, parsed(row, "stream")?, &text).is_break() {
                        break;
                    }
                }
                Ok(())
            })
            .map_err(self.0.wrap())
    }
}
