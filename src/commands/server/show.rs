use clap::Args;

use super::view;
use crate::commands::{alloc, cu, event, runs};
use crate::context::Context;
use crate::domain::name::Hostname;
use crate::error::Error;
use crate::ops;
use crate::ops::servers::HostChange;
use crate::ui::{Cell, Table, Tone, column};

/// Show a server, what it carries, and what changed it
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos server show lab1")]
pub struct ShowArgs {
    /// Name of the server
    host: Hostname,
}

pub fn run(cx: &Context, args: ShowArgs) -> Result<(), Error> {
    let opened = cx.reader()?;
    let detail = ops::servers::show(&opened.services(), &args.host)?;
    cx.ui.show(&detail, || {
        let keys = detail.host_keys.iter().map(|k| vec![Cell::new(k)]);
        view::one(cx, &detail.server)
            .section("Compute units", cu::view::table(&detail.compute_units))
            .section("Allocations", alloc::view::table(&detail.allocations))
            .section("Host keys", Table::new([column("key").wraps()]).rows(keys))
            .section("What changed it", changes(cx, &detail.changes))
            .section("Last runs", runs::view::table(cx, &detail.runs))
            .section("Last events", event::view::table(cx, &detail.events))
    })
}

fn changes(cx: &Context, changes: &[HostChange]) -> Table {
    Table::new([
        column("when"),
        column("run").right(),
        column("playbook"),
        column("changed").right(),
        column("run's end"),
    ])
    .rows(changes.iter().map(|c| {
        vec![
            Cell::new(cx.ui.at(c.at)),
            Cell::new(c.run),
            Cell::new(format!("{}@{}", c.playbook, c.version)),
            Cell::count(c.changed, Tone::Changed),
            Cell::status(c.status),
        ]
    }))
}
