use clap::Args;

use super::view;
use crate::commands::arguments::WaitArgs;
use crate::commands::outcome;
use crate::context::Context;
use crate::domain::name::AllocationId;
use crate::error::Error;
use crate::ops;

/// Try a failed create again, at the same place
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos alloc retry web")]
pub struct RetryArgs {
    /// Id of the allocation
    id: AllocationId,

    #[command(flatten)]
    wait: WaitArgs,
}

pub fn run(cx: &Context, args: RetryArgs) -> Result<(), Error> {
    let opened = cx.writer()?;
    let mut progress = cx.ui.progress();
    let done = ops::allocations::retry(
        &opened.services(),
        &args.id,
        &args.wait.lifecycle(cx),
        &mut *progress,
    )?;
    drop(progress);
    view::done(cx, &done)?;
    outcome::exit(cx, &done.run)
}
