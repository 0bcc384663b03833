//! Ending a run from another terminal.

use std::time::{Duration, Instant};

use super::now_is;
use crate::domain::event::NewEvent;
use crate::domain::report::{Report, Reporter};
use crate::domain::run::{Run, RunId};
use crate::error::{Error, Kind};
use crate::ops::Services;
use crate::runner;
use crate::store::runs::subject;

/// A run that is asked to end has killed everything of its own by then.
const LIMIT: Duration = Duration::from_secs(12);
const POLL: Duration = Duration::from_millis(100);

/// Asks the run's process to end, and waits until the run has.
pub fn cancel(
    services: &Services<'_>,
    id: RunId,
    reporter: &mut dyn Reporter,
) -> Result<Run, Error> {
    let run = now_is(services, id)?;
    run.may_cancel()?;
    runner::ask_to_end(services.paths, services.env, &run)?;
    let asked = Instant::now();
    // The signal is what counts: it is not held up for the audit.
    services.store.write(|tx| {
        tx.events()
            .append(NewEvent::new("run.cancel", subject(id)).run(id))
    })?;
    reporter.report(&Report::Step(format!("run {id} is asked to end")));
    loop {
        let run = now_is(services, id)?;
        if !run.status.is_live() {
            return Ok(run);
        }
        if asked.elapsed() > LIMIT {
            return Err(Error::new(
                Kind::Local,
                format!(
                    "run {id} was asked to end {} s ago and is still {}",
                    asked.elapsed().as_secs(),
                    run.status
                ),
            )
            .hint(format!(
                "`kloigos runs cancel {id}` once more makes it kill everything at once"
            )));
        }
        std::thread::sleep(POLL);
    }
}
