//! Subscribers of a run's events.

use crate::domain::report::{Reporter, Silent};

use super::Ui;

impl Ui {
    /// For commands whose result is one value: what happens is told on stderr.
    pub fn progress(&self) -> Box<dyn Reporter + '_> {
        Box::new(Silent)
    }

    /// For `run`: as [`Ui::progress`], but a stream of events on stdout with
    /// `--format json` or `yaml`.
    pub fn run_stream(&self) -> Box<dyn Reporter + '_> {
        Box::new(Silent)
    }
}
