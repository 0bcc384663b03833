use clap::Args;

use super::view;
use crate::commands::arguments::WaitArgs;
use crate::commands::outcome;
use crate::context::Context;
use crate::domain::name::AllocationId;
use crate::error::Error;
use crate::ops;

/// Delete an allocation and everything of its tenant
///
/// Runs ALLOCATION_DELETE. The unit and the address are free again only after
/// the host is clean; after a failure, the same command goes on.
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos alloc delete web")]
pub struct DeleteArgs {
    /// Id of the allocation
    id: AllocationId,

    #[command(flatten)]
    wait: WaitArgs,
}

pub fn run(cx: &Context, args: DeleteArgs) -> Result<(), Error> {
    let opened = cx.writer()?;
    let services = opened.services();
    let allocation = ops::allocations::show(&services, &args.id)?.allocation;
    // A state that forbids it is said before the question.
    let _ = allocation.begin_delete()?;
    cx.ui.confirm(
        allocation.id.as_str(),
        &format!(
            "This deletes allocation {}: user {} on {}, its processes and all of its files.",
            allocation.id, allocation.login_user, allocation.server
        ),
    )?;
    let options = args.wait.lifecycle(cx);
    outcome::act(cx, view::one, |progress| {
        ops::allocations::delete(&services, &args.id, &options, progress)
    })
}
