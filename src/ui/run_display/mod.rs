//! Subscribers of a run's events, chosen by where stderr goes.
//!
//! [`model`] keeps what the events say, [`frame`] and [`hosts`] make a picture of it,
//! [`live`] draws that in place; [`plain`] writes lines for logs; both say
//! failures at once ([`announce`]) and end with the same [`recap`]. [`stream`]
//! is for programs.

mod announce;
mod frame;
mod hosts;
mod line;
mod live;
mod model;
mod plain;
mod recap;
mod stream;
#[cfg(test)]
mod tests;

use super::{Format, Ui};
use crate::domain::report::{Report, Reporter};

impl Ui {
    /// For commands whose result is one value: what happens is told on stderr,
    /// whatever the format.
    pub fn progress(&self) -> Box<dyn Reporter + '_> {
        if self.options.quiet {
            Box::new(Quiet { ui: self })
        } else if self.streams.err_is_terminal() && !self.dumb && !self.options.no_progress {
            Box::new(live::Live::new(self))
        } else {
            Box::new(plain::Plain::new(self))
        }
    }

    /// For `run`: as [`Ui::progress`], but a stream of events on stdout with
    /// `--format json` or `yaml`.
    pub fn run_stream(&self) -> Box<dyn Reporter + '_> {
        match self.options.format {
            Format::Table => self.progress(),
            Format::Json | Format::Yaml => Box::new(stream::Stream { ui: self }),
        }
    }
}

/// With `--quiet`: what must be minded, nothing else.
struct Quiet<'a> {
    ui: &'a Ui,
}

impl Reporter for Quiet<'_> {
    fn report(&mut self, report: &Report) {
        if let Report::Warning(text) = report {
            self.ui.warning(text);
        }
    }
}
