//! The live display: draws the frame in place, on stderr. One write a picture,
//! inside a synchronised update, so that nothing flickers.

use super::announce::Announcer;
use super::frame::{Scene, Size};
use super::line::Line;
use super::model::Model;
use super::recap::recap;
use crate::domain::report::{Report, Reporter};
use crate::domain::run_event::RunEvent;
use crate::domain::time::Timestamp;
use crate::ui::Ui;
use crate::ui::text;

/// Events closer together than this share a picture, in milliseconds.
const PICTURE_MS: i64 = 80;

pub(super) struct Live<'a> {
    ui: &'a Ui,
    model: Model,
    announcer: Announcer,
    /// Widths of the lines that are on the screen.
    drawn: Vec<usize>,
    drawn_at: Option<Timestamp>,
    /// Said since the last picture.
    pending: Vec<Line>,
}

impl<'a> Live<'a> {
    pub fn new(ui: &'a Ui) -> Self {
        Live {
            ui,
            model: Model::default(),
            announcer: Announcer::new(ui.verbosity()),
            drawn: Vec::new(),
            drawn_at: None,
            pending: Vec::new(),
        }
    }

    /// Brings the cursor to where the present picture begins.
    fn home(&self, columns: usize) -> String {
        // A terminal that has become narrower has wrapped what was drawn.
        let rows: usize = self.drawn.iter().map(|w| w.div_ceil(columns).max(1)).sum();
        match rows {
            0 => String::new(),
            1 => "\r".to_owned(),
            n => format!("\r\u{1b}[{}A", n - 1),
        }
    }

    fn draw(&mut self, now: Timestamp) {
        let (columns, rows) = self.ui.streams.err_size();
        let palette = self.ui.err;
        let size = Size {
            // The last column stays free: a full line would leave the cursor
            // in doubt.
            columns: columns.saturating_sub(1).max(10),
            rows: rows.saturating_sub(1).max(2),
        };
        let scene = Scene {
            model: &self.model,
            now,
            size,
            palette,
            zone: &self.ui.zone,
        };
        let lines = scene.lines();
        let mut out = String::from("\u{1b}[?2026h");
        out.push_str(&self.home(columns));
        if !self.pending.is_empty() {
            out.push_str("\u{1b}[J");
        }
        for line in self.pending.drain(..) {
            for part in line.wrap(size.columns) {
                out.push_str(&part.paint(usize::MAX, palette));
                out.push('\n');
            }
        }
        self.drawn.clear();
        for (i, line) in lines.iter().enumerate() {
            if i > 0 {
                out.push('\n');
            }
            let painted = line.paint(size.columns, palette);
            self.drawn.push(text::width(&painted));
            out.push_str(&painted);
            out.push_str("\u{1b}[K");
        }
        out.push_str("\u{1b}[J\u{1b}[?2026l");
        self.ui.streams.err(&out);
        self.drawn_at = Some(now);
    }

    /// Takes the picture away; what was said stays.
    fn clear(&mut self) {
        if self.drawn.is_empty() && self.pending.is_empty() {
            return;
        }
        let (columns, _) = self.ui.streams.err_size();
        let mut out = self.home(columns);
        out.push_str("\u{1b}[J");
        for line in self.pending.drain(..) {
            for part in line.wrap(columns.max(10)) {
                out.push_str(&part.paint(usize::MAX, self.ui.err));
                out.push('\n');
            }
        }
        self.drawn.clear();
        self.ui.streams.err(&out);
    }

    fn event(&mut self, at: Timestamp, event: &RunEvent) {
        self.model.observe(at, event);
        let said = self.announcer.observe(&self.model, event, self.ui.err);
        let urgent = !said.is_empty();
        self.pending.extend(said);
        if let Some(end) = &self.model.end {
            let (columns, _) = self.ui.streams.err_size();
            let width = Some(columns.saturating_sub(1).max(10));
            let text = recap(&self.model, end, &self.announcer, width, self.ui.err);
            self.clear();
            self.ui.streams.err(&text);
            return;
        }
        let due = self
            .drawn_at
            .is_none_or(|last| at.0 - last.0 >= PICTURE_MS || at < last);
        if due || urgent {
            self.draw(at);
        }
    }
}

impl Reporter for Live<'_> {
    fn report(&mut self, report: &Report) {
        match report {
            Report::Run { at, event } => self.event(*at, event),
            Report::Step(text) => {
                self.clear();
                self.ui.step(text);
            }
            Report::Note(text) => {
                self.clear();
                self.ui.note(text);
            }
            Report::Warning(text) => {
                self.clear();
                self.ui.warning(text);
            }
        }
    }

    fn tick(&mut self, now: Timestamp) {
        if self.model.run.is_some() && self.model.end.is_none() {
            self.draw(now);
        }
    }
}

impl Drop for Live<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}
