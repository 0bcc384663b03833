use clap::Args;

use crate::commands::arguments::WaitArgs;
use crate::commands::outcome;
use crate::context::Context;
use crate::domain::run::RunId;
use crate::error::Error;
use crate::ops;
use crate::ops::runs::AgainAsk;

/// Run exactly the same again
///
/// The same version even if another one is the default now, the same
/// inventory, hosts, options and variables. Files that were named are read
/// again. Secret variables are not kept.
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos runs rerun 12")]
pub struct RerunArgs {
    /// Number of the run
    #[arg(value_name = "ID")]
    run: RunId,

    #[command(flatten)]
    wait: WaitArgs,
}

pub fn run(cx: &Context, args: RerunArgs) -> Result<(), Error> {
    let ask = AgainAsk {
        run: args.run,
        wait: args.wait.wait(),
        verbosity: cx.ui.verbosity(),
    };
    let opened = cx.writer()?;
    let done = {
        let mut progress = cx.ui.run_stream();
        ops::runs::rerun(&opened.services(), &ask, &mut *progress)?
    };
    outcome::exit(&done)
}
