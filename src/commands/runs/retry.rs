use clap::Args;

use crate::commands::arguments::WaitArgs;
use crate::commands::outcome;
use crate::commands::secrets::SecretVariableArgs;
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
    secrets: SecretVariableArgs,

    #[command(flatten)]
    wait: WaitArgs,
}

pub fn run(cx: &Context, args: RetryArgs) -> Result<(), Error> {
    let opened = cx.writer()?;
    let services = opened.services();
    let not_kept = ops::runs::not_kept(&services, args.run)?;
    let ask = AgainAsk {
        run: args.run,
        secrets: args.secrets.ask_again(cx, &not_kept)?,
        wait: args.wait.wait(),
        verbosity: cx.ui.verbosity(),
    };
    let done = {
        let mut progress = cx.ui.run_stream();
        ops::runs::retry(&services, ask, &mut *progress)?
    };
    outcome::exit(cx, &done)
}
