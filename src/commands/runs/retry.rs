use clap::Args;

use super::again::{self, AgainArgs};
use crate::context::Context;
use crate::error::Error;
use crate::ops;

/// Run the same again on the hosts that are left
///
/// Those that failed, were unreachable or were never reached; of a run that
/// was cancelled or killed, all of its hosts. Otherwise as `runs rerun`.
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos runs retry 12")]
pub struct RetryArgs {
    #[command(flatten)]
    again: AgainArgs,
}

pub fn run(cx: &Context, args: RetryArgs) -> Result<(), Error> {
    again::run(cx, args.again, ops::runs::retry)
}
