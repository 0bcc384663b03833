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
    let options = args.wait.lifecycle(cx);
    outcome::act(cx, view::one, |progress| {
        ops::allocations::retry(&opened.services(), &args.id, &options, progress)
    })
}
