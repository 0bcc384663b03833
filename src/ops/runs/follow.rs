//! Watching a run from any terminal. Only reads: what it shows is what the
//! run has stored.

use std::ops::ControlFlow;
use std::time::Duration;

use super::now_is;
use crate::domain::run::{Run, RunId, RunStatus};
use crate::domain::run_event::RunEvent;
use crate::error::{Error, Kind};
use crate::ops::Services;
use crate::runner;

const POLL: Duration = Duration::from_millis(200);

/// Gives what the run waits for and its output line by line, until it has
/// ended, then its end. None when `f` broke.
pub fn follow(
    services: &Services<'_>,
    id: RunId,
    f: &mut dyn FnMut(&RunEvent) -> ControlFlow<()>,
) -> Result<Option<Run>, Error> {
    let mut told = Vec::new();
    let mut last = None;
    loop {
        // First whether it has ended, then its output: the end is recorded
        // last, so nothing comes after it.
        let run = now_is(services, id)?;
        if run.status == RunStatus::Queued {
            let waits_for = services.store.read(|tx| runner::waits_for(tx, id))?;
            if !waits_for.is_empty() && waits_for != told {
                told.clone_from(&waits_for);
                if f(&RunEvent::Queued { waits_for }).is_break() {
                    return Ok(None);
                }
            }
        }
        let mut broken = false;
        services.store.read(|tx| {
            tx.runs().output_after(id, last, &mut |seq, stream, text| {
                last = Some(seq);
                for line in text.split_inclusive('\n') {
                    let event = RunEvent::Output {
                        stream,
                        text: line.to_owned(),
                    };
                    if f(&event).is_break() {
                        broken = true;
                        return ControlFlow::Break(());
                    }
                }
                ControlFlow::Continue(())
            })
        })?;
        if broken {
            return Ok(None);
        }
        if !run.status.is_live() {
            let end = finished(services, &run)?;
            return Ok(f(&end).is_continue().then_some(run));
        }
        std::thread::sleep(POLL);
    }
}

/// The code with which the run's own process ended.
pub fn exit_code(run: &Run) -> u8 {
    run.exit_code
        .or_else(|| run.ending.map(|e| Kind::Run(e).exit_code()))
        .unwrap_or_default()
}

fn finished(services: &Services<'_>, run: &Run) -> Result<RunEvent, Error> {
    let began = run.started_at.unwrap_or(run.queued_at);
    let elapsed = run.ended_at.map(|end| end.since(began)).unwrap_or_default();
    Ok(RunEvent::Finished {
        run: run.id,
        status: run.status,
        ending: run
            .ending
            .unwrap_or(crate::domain::run::RunEnding::Interrupted),
        exit_code: exit_code(run),
        elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        reason: run.reason.clone(),
        hint: None,
        in_flight: Vec::new(),
        hosts: services.store.read(|tx| tx.runs().hosts(run.id))?,
    })
}
