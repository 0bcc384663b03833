use clap::Args;

use super::again::{self, AgainArgs};
use crate::context::Context;
use crate::error::Error;
use crate::ops;

/// Run exactly the same again
///
/// The same version even if another one is the default now, the same
/// inventory, hosts, options and variables. Files that were named are read
/// again. Secrets are not kept: they are asked for, or given again.
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos runs rerun 12")]
pub struct RerunArgs {
    #[command(flatten)]
    again: AgainArgs,
}

pub fn run(cx: &Context, args: RerunArgs) -> Result<(), Error> {
    again::run(cx, args.again, ops::runs::rerun)
}
