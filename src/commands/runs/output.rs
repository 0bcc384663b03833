use clap::Args;
use serde_json::json;

use crate::context::Context;
use crate::domain::run::RunId;
use crate::error::Error;
use crate::ops;
use crate::ui::{Format, View};

/// Print what Ansible wrote during a run
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos runs output 12 | less")]
pub struct OutputArgs {
    /// Number of the run
    #[arg(value_name = "ID")]
    run: RunId,
}

pub fn run(cx: &Context, args: OutputArgs) -> Result<(), Error> {
    let opened = cx.reader()?;
    let services = opened.services();
    if cx.ui.format() == Format::Table {
        return ops::runs::output(&services, args.run, &mut |text| cx.ui.write_text(text));
    }
    let mut whole = String::new();
    ops::runs::output(&services, args.run, &mut |text| {
        whole.push_str(text);
        std::ops::ControlFlow::Continue(())
    })?;
    cx.ui
        .show(&json!({"run": args.run, "output": whole}), View::new)
}
