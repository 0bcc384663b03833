use clap::Args;

use super::unit::UnitArgs;
use super::view;
use crate::context::Context;
use crate::error::Error;
use crate::ops;

/// Take a free compute unit out of use
///
/// No allocation is placed on it until it is enabled again.
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos cu disable lab1-cu00")]
pub struct DisableArgs {
    #[command(flatten)]
    unit: UnitArgs,
}

pub fn run(cx: &Context, args: DisableArgs) -> Result<(), Error> {
    let id = args.unit.id()?;
    let opened = cx.writer()?;
    ops::compute_units::set_enabled(&opened.services(), &id, false)?;
    view::show(cx, &opened.services(), &id)
}
