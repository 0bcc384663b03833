use clap::Args;

use super::view;
use crate::commands::arguments::one_of;
use crate::context::Context;
use crate::domain::allocation::AllocationStatus;
use crate::domain::name::{Hostname, Place};
use crate::error::Error;
use crate::ops;
use crate::ops::allocations::AllocationFilter;
use crate::ui::View;

/// List allocations
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  kloigos alloc list
  kloigos alloc list --server lab1 --status allocated")]
pub struct ListArgs {
    /// Those on one server
    #[arg(long, value_name = "HOST")]
    server: Option<Hostname>,

    /// Those in one state
    #[arg(long, value_parser = one_of(AllocationStatus::ALL), ignore_case = true)]
    status: Option<AllocationStatus>,

    /// Those in one region
    #[arg(long)]
    region: Option<Place>,

    /// Deleted ones too
    #[arg(long)]
    all: bool,
}

pub fn run(cx: &Context, args: ListArgs) -> Result<(), Error> {
    let filtered = args.server.is_some() || args.status.is_some() || args.region.is_some();
    let filter = AllocationFilter {
        server: args.server,
        status: args.status,
        region: args.region,
        all: args.all,
    };
    let opened = cx.reader()?;
    let allocations = ops::allocations::list(&opened.services(), &filter)?;
    cx.ui.show(&allocations, || {
        View::list(
            view::table(&allocations),
            if filtered {
                "no such allocations"
            } else {
                "no allocations yet; `kloigos alloc create` makes one"
            },
        )
    })
}
