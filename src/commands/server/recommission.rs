use clap::Args;

use super::view;
use crate::commands::arguments::WaitArgs;
use crate::commands::outcome;
use crate::context::Context;
use crate::domain::name::Hostname;
use crate::error::Error;
use crate::ops;

/// Take a decommissioned server back
///
/// Runs SERVER_INIT; the compute units are those that it had.
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos server recommission lab1")]
pub struct RecommissionArgs {
    /// Name of the server
    host: Hostname,

    #[command(flatten)]
    wait: WaitArgs,
}

pub fn run(cx: &Context, args: RecommissionArgs) -> Result<(), Error> {
    let opened = cx.writer()?;
    let services = opened.services();
    let options = args.wait.lifecycle(cx);
    outcome::act(cx, view::one, |progress| {
        ops::servers::recommission(&services, &args.host, &options, progress)
    })
}
