use clap::Args;

use crate::context::Context;
use crate::error::Error;
use crate::ops;
use crate::ui::{Cell, Table, Tone, View, column};

/// List servers
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos server list")]
pub struct ListArgs {}

pub fn run(cx: &Context, _: ListArgs) -> Result<(), Error> {
    let opened = cx.reader()?;
    let servers = ops::servers::list(&opened.services())?;
    cx.ui.show(&servers, || {
        let rows = servers.iter().map(|s| {
            vec![
                Cell::new(&s.server.hostname),
                Cell::status(s.server.status),
                Cell::status(s.server.health),
                Cell::new(s.server.ansible_host()),
                Cell::new(&s.server.region),
                Cell::new(&s.server.zone),
                Cell::new(s.units),
                Cell::count(s.units_free, Tone::Plain),
                Cell::count(s.allocations, Tone::Plain),
            ]
        });
        View::list(
            Table::new([
                column("server"),
                column("status"),
                column("health").optional(3),
                column("address"),
                column("region").optional(2),
                column("zone").optional(1),
                column("units").right(),
                column("free").right(),
                column("allocations").right().optional(4),
            ])
            .rows(rows),
            "no servers yet; `kloigos server add` registers one",
        )
    })
}
