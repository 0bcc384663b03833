use clap::Args;

use super::view;
use crate::commands::arguments::WaitArgs;
use crate::commands::outcome;
use crate::context::Context;
use crate::domain::name::Hostname;
use crate::error::Error;
use crate::ops;

/// Take everything of Kloigos off a server
///
/// Runs SERVER_DECOMM, of which this build packages none: push your own. The
/// server stays registered, and can be recommissioned or removed. Refused while
/// allocations live there.
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos server decommission lab1")]
pub struct DecommissionArgs {
    /// Name of the server
    host: Hostname,

    #[command(flatten)]
    wait: WaitArgs,
}

pub fn run(cx: &Context, args: DecommissionArgs) -> Result<(), Error> {
    let opened = cx.writer()?;
    let services = opened.services();
    // An unknown name is said before a question.
    ops::servers::show(&services, &args.host)?;
    let consequence = format!("This takes everything of Kloigos off {}.", args.host);
    cx.ui.confirm(args.host.as_str(), &consequence)?;
    let options = args.wait.lifecycle(cx);
    outcome::act(cx, view::one, |progress| {
        ops::servers::decommission(&services, &args.host, &options, progress)
    })
}
