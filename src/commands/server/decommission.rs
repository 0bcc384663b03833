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
/// Runs SERVER_DECOMM: volumes wiped and gone, settings, rules, units and files
/// gone, what others have on the host as it was. Packages stay. The server stays
/// registered, and can be recommissioned or removed. Refused while allocations
/// live there; after a failure, a second try goes on.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  kloigos server decommission lab1
  kloigos server decommission lab1 --purge-packages")]
pub struct DecommissionArgs {
    /// Name of the server
    host: Hostname,

    /// Purge the packages that SERVER_INIT installed and nothing else needs
    #[arg(long)]
    purge_packages: bool,

    #[command(flatten)]
    wait: WaitArgs,
}

pub fn run(cx: &Context, args: DecommissionArgs) -> Result<(), Error> {
    let opened = cx.writer()?;
    let services = opened.services();
    // An unknown name, and a state that forbids it, are said before a question.
    let detail = ops::servers::show(&services, &args.host)?;
    let _ = detail.server.begin_decommission(detail.allocations.len())?;
    let consequence = format!(
        "This takes everything of Kloigos off {}, and wipes the volumes of its compute units.",
        args.host
    );
    cx.ui.confirm(args.host.as_str(), &consequence)?;
    let options = args.wait.lifecycle(cx);
    outcome::act(cx, view::one, |progress| {
        let purge = args.purge_packages;
        ops::servers::decommission(&services, &args.host, purge, &options, progress)
    })
}
