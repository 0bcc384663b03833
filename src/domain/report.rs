//! How operations say what they are doing. `ops` and `runner` never draw:
//! they call a [`Reporter`], and the UI subscribes.

use crate::domain::run_event::RunEvent;
use crate::domain::time::Timestamp;

#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// Something starts that may take a while ("making a private environment
    /// with ansible-core 2.19").
    Step(String),
    /// Something worth knowing that is over.
    Note(String),
    /// Something that the user should mind.
    Warning(String),
    Run {
        at: Timestamp,
        event: RunEvent,
    },
}

pub trait Reporter {
    fn report(&mut self, report: &Report);

    /// Called a few times a second while a run goes on, so that a display can
    /// move its clock.
    fn tick(&mut self, _now: Timestamp) {}
}

/// For callers that want silence (tests, `--quiet` inside scripts).
pub struct Silent;

impl Reporter for Silent {
    fn report(&mut self, _: &Report) {}
}
