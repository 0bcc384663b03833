use clap::Args;

use super::view;
use crate::context::Context;
use crate::error::Error;
use crate::ops;
use crate::ui::View;

/// Print the value of a setting
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos setting get runs.max_concurrent")]
pub struct GetArgs {
    /// Name of the setting
    name: String,
}

pub fn run(cx: &Context, args: GetArgs) -> Result<(), Error> {
    let opened = cx.reader()?;
    let setting = ops::settings::get(&opened.services(), &args.name)?;
    cx.ui
        .show(&setting, || View::new().text(view::value(&setting) + "\n"))
}
