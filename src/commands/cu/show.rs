use clap::Args;

use crate::context::Context;
use crate::domain::name::ComputeUnitId;
use crate::error::Error;
use crate::ops;
use crate::ui::{Cell, Tone, View};

/// Show a compute unit
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos cu show lab1-cu00")]
pub struct ShowArgs {
    /// Id of the unit, as `kloigos cu list` shows it
    cu: String,
}

pub fn run(cx: &Context, args: ShowArgs) -> Result<(), Error> {
    let opened = cx.reader()?;
    // What cannot be an id is not one of the store's either.
    let id = ComputeUnitId::parse(&args.cu).map_err(|e| {
        Error::not_found(format!("there is no such compute unit: {e}"))
            .hint("`kloigos cu list` shows them all")
    })?;
    let detail = ops::compute_units::show(&opened.services(), &id)?;
    cx.ui.show(&detail, || {
        let unit = &detail.unit;
        View::new().fields([
            ("compute unit", Cell::toned(&unit.id, Tone::Strong)),
            ("status", Cell::status(unit.status)),
            ("allocation", Cell::optional(unit.allocation.as_ref())),
            ("server", Cell::new(&detail.server.hostname)),
            ("server status", Cell::status(detail.server.status)),
            (
                "CPUs",
                Cell::new(format!("{} ({})", unit.cpu_count, detail.cpu_set)),
            ),
            ("NUMA node", Cell::optional(unit.numa_node)),
            (
                "memory limit",
                Cell::optional(
                    detail
                        .memory
                        .map(|m| format!("{} MiB, throttled above {} MiB", m.max_mb, m.high_mb)),
                ),
            ),
            ("storage", Cell::new(&detail.storage_path)),
            ("changed", Cell::new(cx.ui.at_with_age(unit.updated_at))),
        ])
    })
}
