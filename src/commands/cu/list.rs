use clap::Args;

use super::view;
use crate::commands::arguments::one_of;
use crate::context::Context;
use crate::domain::compute_unit::CuStatus;
use crate::domain::name::Hostname;
use crate::error::Error;
use crate::ops;
use crate::ops::compute_units::CuFilter;
use crate::ui::View;

/// List compute units
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos cu list --status free")]
pub struct ListArgs {
    /// Those of one server
    #[arg(long, value_name = "HOST")]
    server: Option<Hostname>,

    /// Those in one state
    #[arg(long, value_parser = one_of(CuStatus::ALL), ignore_case = true)]
    status: Option<CuStatus>,
}

pub fn run(cx: &Context, args: ListArgs) -> Result<(), Error> {
    let filtered = args.server.is_some() || args.status.is_some();
    let filter = CuFilter {
        server: args.server,
        status: args.status,
    };
    let opened = cx.reader()?;
    let units = ops::compute_units::list(&opened.services(), &filter)?;
    cx.ui.show(&units, || {
        View::list(
            view::table(&units),
            if filtered {
                "no such compute units"
            } else {
                "no compute units yet; they come with `kloigos server add`"
            },
        )
    })
}
