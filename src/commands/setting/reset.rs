use clap::Args;

use super::view;
use crate::context::Context;
use crate::error::Error;
use crate::ops;

/// Give a setting its default value back
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos setting reset runs.max_concurrent")]
pub struct ResetArgs {
    /// Name of the setting
    name: String,
}

pub fn run(cx: &Context, args: ResetArgs) -> Result<(), Error> {
    let opened = cx.writer()?;
    let setting = ops::settings::reset(&opened.services(), &args.name)?;
    cx.ui.show(&setting, || view::one(&setting))
}
