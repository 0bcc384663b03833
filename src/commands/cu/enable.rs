use clap::Args;

use super::unit::UnitArgs;
use super::view;
use crate::context::Context;
use crate::error::Error;
use crate::ops;

/// Put a compute unit back into use
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos cu enable lab1-cu00")]
pub struct EnableArgs {
    #[command(flatten)]
    unit: UnitArgs,
}

pub fn run(cx: &Context, args: EnableArgs) -> Result<(), Error> {
    let id = args.unit.id()?;
    let opened = cx.writer()?;
    ops::compute_units::set_enabled(&opened.services(), &id, true)?;
    view::show(cx, &opened.services(), &id)
}
