use clap::Args;

use crate::commands::arguments::one_of;
use crate::context::Context;
use crate::domain::ip::IpStatus;
use crate::error::Error;
use crate::ops;
use crate::ui::{Cell, Table, View, ago, column};

/// List the pool's addresses
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos ip list --status free")]
pub struct ListArgs {
    /// Those in one state
    #[arg(long, value_parser = one_of(IpStatus::ALL), ignore_case = true)]
    status: Option<IpStatus>,
}

pub fn run(cx: &Context, args: ListArgs) -> Result<(), Error> {
    let opened = cx.reader()?;
    let addresses = ops::addresses::list(&opened.services(), args.status)?;
    cx.ui.show(&addresses, || {
        let rows = addresses.iter().map(|a| {
            vec![
                Cell::new(a.address),
                Cell::status(a.status),
                Cell::optional(a.allocation.as_ref()),
                Cell::new(ago(a.updated_at, cx.ui.now())),
            ]
        });
        View::list(
            Table::new([
                column("address"),
                column("status"),
                column("allocation"),
                column("changed").optional(1),
            ])
            .rows(rows),
            if args.status.is_some() {
                "no such addresses"
            } else {
                "the pool is empty; `kloigos ip add` fills it"
            },
        )
    })
}
