//! What a run's end means for the command that asked for it.

use serde::Serialize;

use crate::context::Context;
use crate::domain::report::Reporter;
use crate::domain::run::{RunEnding, RunOutcome};
use crate::error::{Error, Kind};
use crate::ops::Done;
use crate::ui::View;

/// The JSON of a lifecycle command: the resource as it now is, and its run.
#[derive(Serialize)]
pub struct Ended<'a, T> {
    #[serde(flatten)]
    pub value: &'a T,
    pub run: Option<&'a RunOutcome>,
}

/// Does a lifecycle operation with its progress on the screen, shows what
/// became of the resource, and gives its run's end.
pub fn act<T: Serialize>(
    cx: &Context,
    view: impl FnOnce(&Context, &T) -> View,
    operation: impl FnOnce(&mut dyn Reporter) -> Result<Done<T>, Error>,
) -> Result<(), Error> {
    // The display is gone before anything is shown.
    let ended = operation(&mut *cx.ui.progress())?;
    done(cx, view, &ended)
}

/// The end of a lifecycle operation: the resource, and its run's exit code.
pub fn done<T: Serialize>(
    cx: &Context,
    view: impl FnOnce(&Context, &T) -> View,
    done: &Done<T>,
) -> Result<(), Error> {
    let ended = Ended {
        value: &done.value,
        run: Some(&done.run),
    };
    cx.ui.show(&ended, || view(cx, &done.value))?;
    exit(cx, &done.run)
}

/// Success, or an error that carries the ending's exit code. Its story has
/// been told by the run's display.
///
/// What the run came to is the exit code, also when stdout could not be
/// written.
pub fn exit(cx: &Context, outcome: &RunOutcome) -> Result<(), Error> {
    if let Some(failure) = cx.ui.write_failure() {
        cx.ui.warning(&failure.message);
    }
    if outcome.ending == RunEnding::Success {
        return Ok(());
    }
    let message = match &outcome.reason {
        Some(reason) => format!("run {} ended as {}: {reason}", outcome.run, outcome.status),
        None => format!("run {} ended as {}", outcome.run, outcome.status),
    };
    Err(Error::new(Kind::Run(outcome.ending), message)
        .hint(format!("`kloigos runs show {}` tells more", outcome.run)))
}
