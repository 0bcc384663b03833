use clap::Args;

use crate::commands::arguments::WaitArgs;
use crate::commands::outcome;
use crate::commands::secrets::SecretVariableArgs;
use crate::context::Context;
use crate::domain::run::RunId;
use crate::error::Error;
use crate::ops;
use crate::ops::runs::AgainAsk;

/// Run exactly the same again
///
/// The same version even if another one is the default now, the same
/// inventory, hosts, options and variables. Files that were named are read
/// again. Secrets are not kept: they are asked for, or given again.
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos runs rerun 12")]
pub struct RerunArgs {
    /// Number of the run
    #[arg(value_name = "ID")]
    run: RunId,

    #[command(flatten)]
    secrets: SecretVariableArgs,

    #[command(flatten)]
    wait: WaitArgs,
}

pub fn run(cx: &Context, args: RerunArgs) -> Result<(), Error> {
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
        ops::runs::rerun(&services, ask, &mut *progress)?
    };
    outcome::exit(cx, &done)
}
