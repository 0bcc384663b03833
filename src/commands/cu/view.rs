//! How compute units look.

use crate::context::Context;
use crate::domain::compute_unit::ComputeUnit;
use crate::domain::name::ComputeUnitId;
use crate::error::Error;
use crate::ops::{self, Services};
use crate::ui::{Cell, Table, Tone, View, column};

pub fn show(cx: &Context, services: &Services<'_>, id: &ComputeUnitId) -> Result<(), Error> {
    let detail = ops::compute_units::show(services, id)?;
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

pub fn table(units: &[ComputeUnit]) -> Table {
    Table::new([
        column("unit"),
        column("status"),
        column("cpus").right(),
        column("range").optional(1),
        column("numa").right().optional(2),
        column("allocation"),
    ])
    .rows(units.iter().map(|u| {
        vec![
            Cell::new(&u.id),
            Cell::status(u.status),
            Cell::new(u.cpu_count),
            Cell::new(&u.cpu_range),
            Cell::optional(u.numa_node),
            Cell::optional(u.allocation.as_ref()),
        ]
    }))
}
