use clap::Args;

use super::unit::UnitArgs;
use super::view;
use crate::context::Context;
use crate::error::Error;

/// Show a compute unit
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos cu show lab1-cu00")]
pub struct ShowArgs {
    #[command(flatten)]
    unit: UnitArgs,
}

pub fn run(cx: &Context, args: ShowArgs) -> Result<(), Error> {
    let id = args.unit.id()?;
    let opened = cx.reader()?;
    view::show(cx, &opened.services(), &id)
}
