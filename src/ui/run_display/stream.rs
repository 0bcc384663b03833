//! The stream of `run --format json`: one event an object, the last one tells
//! the outcome.

use serde::Serialize;

use crate::domain::report::{Report, Reporter};
use crate::domain::run_event::RunEvent;
use crate::domain::time::Timestamp;
use crate::ui::Ui;

pub(super) struct Stream<'a> {
    pub ui: &'a Ui,
}

#[derive(Serialize)]
struct Entry<'a> {
    at: Timestamp,
    #[serde(flatten)]
    event: &'a RunEvent,
}

impl Reporter for Stream<'_> {
    fn report(&mut self, report: &Report) {
        match report {
            Report::Run { event, .. }
                if matches!(event, RunEvent::Output { .. }) && self.ui.verbosity() == 0 => {}
            Report::Run { at, event } => {
                let _ = self.ui.stream_object(&Entry { at: *at, event });
            }
            Report::Step(text) => self.ui.step(text),
            Report::Note(text) => self.ui.note(text),
            Report::Warning(text) => self.ui.warning(text),
        }
    }
}
