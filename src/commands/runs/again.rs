//! What `rerun` and `retry` have in common.

use clap::Args;

use crate::commands::arguments::WaitArgs;
use crate::commands::outcome;
use crate::commands::secrets::SecretVariableArgs;
use crate::context::Context;
use crate::domain::report::Reporter;
use crate::domain::run::{RunId, RunOutcome};
use crate::error::Error;
use crate::ops::runs::AgainAsk;
use crate::ops::{self, Services};

#[derive(Debug, Args)]
pub(super) struct AgainArgs {
    /// Number of the run
    #[arg(value_name = "ID")]
    run: RunId,

    #[command(flatten)]
    secrets: SecretVariableArgs,

    #[command(flatten)]
    wait: WaitArgs,
}

pub(super) fn run(
    cx: &Context,
    args: AgainArgs,
    operation: fn(&Services<'_>, AgainAsk, &mut dyn Reporter) -> Result<RunOutcome, Error>,
) -> Result<(), Error> {
    let opened = cx.writer()?;
    let services = opened.services();
    let not_kept = ops::runs::not_kept(&services, args.run)?;
    let ask = AgainAsk {
        run: args.run,
        secrets: args.secrets.ask_again(cx, &not_kept)?,
        wait: args.wait.wait(),
        verbosity: cx.ui.verbosity(),
    };
    // The display is gone before the last word.
    let done = operation(&services, ask, &mut *cx.ui.run_stream())?;
    outcome::exit(cx, &done)
}
