use clap::Args;

use crate::context::Context;
use crate::error::Error;
use crate::ops;
use crate::ui::{Cell, Table, View, ago, column};

/// List playbooks
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos playbook list")]
pub struct ListArgs {}

pub fn run(cx: &Context, _: ListArgs) -> Result<(), Error> {
    let opened = cx.reader()?;
    let playbooks = ops::playbooks::list(&opened.services())?;
    cx.ui.show(&playbooks, || {
        let rows = playbooks.iter().map(|p| {
            vec![
                Cell::new(&p.name),
                Cell::new(p.default_version),
                Cell::new(p.latest_version),
                Cell::new(p.versions),
                Cell::new(if p.packaged { "packaged" } else { "own" }),
                Cell::new(ago(p.updated_at, cx.ui.now())),
            ]
        });
        View::list(
            Table::new([
                column("playbook"),
                column("default").right(),
                column("latest").right(),
                column("versions").right().optional(2),
                column("origin"),
                column("changed").optional(1),
            ])
            .rows(rows),
            "no playbooks yet; `kloigos playbook push` adds one",
        )
    })
}
