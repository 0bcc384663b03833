use clap::Args;

use super::view;
use crate::context::Context;
use crate::error::Error;
use crate::ops;

/// Change a setting
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos setting set runs.max_concurrent 8")]
pub struct SetArgs {
    /// Name of the setting
    name: String,

    /// The new value; '' where it may be empty
    #[arg(allow_hyphen_values = true)]
    value: String,
}

pub fn run(cx: &Context, args: SetArgs) -> Result<(), Error> {
    let opened = cx.writer()?;
    let setting = ops::settings::set(&opened.services(), &args.name, &args.value)?;
    cx.ui.show(&setting, || view::one(&setting))
}
