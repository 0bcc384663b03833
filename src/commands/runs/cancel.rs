use clap::Args;

use super::view;
use crate::context::Context;
use crate::domain::run::RunId;
use crate::error::Error;
use crate::ops;
use crate::ui::View;

/// End a queued or running run from another terminal
///
/// Its kloigos process ends Ansible and everything that Ansible has started
/// here; work on a host may still go on, and the run says which. Waits until
/// the run has ended.
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos runs cancel 12")]
pub struct CancelArgs {
    /// Number of the run
    #[arg(value_name = "ID")]
    run: RunId,
}

pub fn run(cx: &Context, args: CancelArgs) -> Result<(), Error> {
    let opened = cx.writer()?;
    let run = {
        let mut progress = cx.ui.progress();
        ops::runs::cancel(&opened.services(), args.run, &mut *progress)?
    };
    cx.ui
        .show(&run, || View::new().fields(view::fields(cx, &run)))
}
