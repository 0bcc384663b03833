use clap::Args;

use super::view;
use crate::commands::runs;
use crate::context::Context;
use crate::domain::name::AllocationId;
use crate::error::Error;
use crate::ops;
use crate::ui::{Cell, View};

/// Show an allocation
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos alloc show web")]
pub struct ShowArgs {
    /// Id of the allocation
    id: AllocationId,
}

pub fn run(cx: &Context, args: ShowArgs) -> Result<(), Error> {
    let opened = cx.reader()?;
    let detail = ops::allocations::show(&opened.services(), &args.id)?;
    cx.ui.show(&detail, || {
        let mut fields = view::fields(cx, &detail.allocation);
        if let Some(unit) = &detail.unit {
            fields.push((
                "CPUs",
                Cell::new(format!("{} ({})", unit.cpu_count, unit.cpu_range)),
            ));
            fields.push(("storage", Cell::new(unit.storage_path())));
        }
        if let Some(m) = detail.memory {
            fields.push((
                "memory limit",
                Cell::new(format!(
                    "{} MiB, throttled above {} MiB",
                    m.max_mb, m.high_mb
                )),
            ));
        }
        if let Some(address) = detail.server_address {
            fields.push((
                "server reached at",
                Cell::new(match detail.server_port {
                    Some(port) if port != 22 => format!("{address}, port {port}"),
                    _ => address.to_string(),
                }),
            ));
        }
        View::new()
            .fields(fields)
            .section("Runs", runs::view::table(cx, &detail.runs))
    })
}
