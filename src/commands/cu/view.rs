//! How compute units look.

use crate::domain::compute_unit::ComputeUnit;
use crate::ui::{Cell, Table, column};

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
