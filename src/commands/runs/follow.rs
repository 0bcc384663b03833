use std::ops::ControlFlow;

use clap::Args;
use serde::Serialize;

use super::view;
use crate::context::Context;
use crate::domain::run::RunId;
use crate::domain::run_event::RunEvent;
use crate::error::{Error, Kind};
use crate::ops;
use crate::ui::Format;

/// Watch what Ansible writes during a run, from any terminal
///
/// Ends when the run ends, with the exit code of the run. Ctrl-C ends the
/// watching, not the run. With --format json it writes one event a line, the
/// outcome last.
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos runs follow 12")]
pub struct FollowArgs {
    /// Number of the run
    #[arg(value_name = "ID")]
    run: RunId,
}

#[derive(Serialize)]
struct Entry<'a> {
    run: RunId,
    #[serde(flatten)]
    event: &'a RunEvent,
}

pub fn run(cx: &Context, args: FollowArgs) -> Result<(), Error> {
    let opened = cx.reader()?;
    let ended = ops::runs::follow(&opened.services(), args.run, &mut |event| match (
        cx.ui.format(),
        event,
    ) {
        (Format::Json | Format::Yaml, event) => cx.ui.stream_object(&Entry {
            run: args.run,
            event,
        }),
        (Format::Table, RunEvent::Output { text, .. }) => cx.ui.write_text(text),
        (Format::Table, RunEvent::Queued { waits_for }) => {
            for w in waits_for {
                cx.ui.note(&format!("waits for {}", view::waits_for(cx, w)));
            }
            ControlFlow::Continue(())
        }
        (Format::Table, _) => ControlFlow::Continue(()),
    })?;
    let Some(run) = ended else { return Ok(()) };
    let said = match &run.reason {
        Some(reason) => format!("run {} ended as {}: {reason}", run.id, run.status),
        None => format!("run {} ended as {}", run.id, run.status),
    };
    cx.ui.note(&said);
    match ops::runs::exit_code(&run) {
        0 => Ok(()),
        exit_code => Err(Error::new(Kind::Told { exit_code }, said)),
    }
}
