use clap::Args;

use crate::commands::arguments::WaitArgs;
use crate::commands::outcome;
use crate::context::Context;
use crate::domain::run::RunId;
use crate::error::Error;
use crate::ops;
use crate::ops::runs::AgainAsk;

/// Run the same again on the hosts that are left
///
/// Those that failed, were unreachable or were never reached; of a run that
/// was cancelled or killed, all of its hosts. Otherwise as `runs rerun`.
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos runs retry 12")]
pub struct RetryArgs {
    /// Number of the run
    #[arg(value_name = "ID")]
    run: RunId,

    #[command(flatten)]
    wait: WaitArgs,
}

pub fn run(cx: &Context, args: RetryArgs) -> Result<(), Error> {
    let ask = AgainAsk {
        run: args.run,
        wait: args.wait.wait(),
        verbosity: cx.ui.verbosity(),
    };
    let opened = cx.writer()?;
    let done = {
        let mut progress = cx.ui.run_stream();
        ops::runs::retry(&opened.services(), &ask, &mut *progress)?
    };
    outcome::exit(&done)
}
