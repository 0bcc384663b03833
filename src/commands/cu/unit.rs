//! The one unit that a command is about.

use clap::Args;

use crate::domain::name::ComputeUnitId;
use crate::error::Error;

#[derive(Debug, Args)]
pub(super) struct UnitArgs {
    /// Id of the unit, as `kloigos cu list` shows it
    cu: String,
}

impl UnitArgs {
    pub(super) fn id(&self) -> Result<ComputeUnitId, Error> {
        // What cannot be an id is not one of the store's either.
        ComputeUnitId::parse(&self.cu).map_err(|e| {
            Error::not_found(format!("there is no such compute unit: {e}"))
                .hint("`kloigos cu list` shows them all")
        })
    }
}
