//! The picture of a run that goes on: a pure function of model, moment, and
//! size.

use jiff::tz::TimeZone;

use super::line::{Line, flow};
use super::model::Model;
use crate::domain::run_event::WaitsFor;
use crate::domain::time::Timestamp;
use crate::ui::text;
use crate::ui::time;
use crate::ui::tone::{Palette, Tone};

#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub columns: usize,
    /// At most so many lines.
    pub rows: usize,
}

pub(super) struct Scene<'a> {
    pub model: &'a Model,
    pub now: Timestamp,
    pub size: Size,
    pub palette: Palette,
    pub zone: &'a TimeZone,
}

impl Scene<'_> {
    pub fn lines(&self) -> Vec<Line> {
        let m = self.model;
        if m.run.is_none() || m.end.is_some() {
            return Vec::new();
        }
        let mut lines = self.header();
        if m.is_waiting() {
            lines.extend(self.waiting());
        } else if !m.has_begun() || (m.play.is_none() && m.tasks.is_empty()) {
            lines.push(indented(Line::of(Tone::Muted, "starting Ansible")));
        } else {
            if let Some(play) = &m.play {
                lines.push(indented(Line::of(Tone::Muted, play.clone())));
            }
            lines.extend(self.task());
            lines.truncate(self.size.rows);
            let room = self.size.rows - lines.len();
            lines.extend(self.hosts(room));
        }
        if let Some(by) = &m.cancelled_by {
            let text = format!("cancelling ({by}); once more kills at once");
            lines.truncate(self.size.rows.saturating_sub(1));
            lines.push(indented(Line::of(Tone::Warn, text)));
        }
        lines.truncate(self.size.rows);
        lines
    }

    /// Run, playbook, subject; at the right the time.
    fn header(&self) -> Vec<Line> {
        let m = self.model;
        let mut pieces = Vec::new();
        if let Some(run) = m.run {
            pieces.push(Line::of(Tone::Strong, format!("run {run}")));
        }
        pieces.push(Line::of(Tone::Strong, m.playbook.clone()));
        if let Some(subject) = &m.subject {
            pieces.push(Line::of(Tone::Plain, subject.clone()));
        }
        if m.check {
            pieces.push(Line::of(Tone::Warn, "check"));
        }
        let elapsed = text::clock(m.elapsed(self.now));
        let clock = if m.is_waiting() {
            Line::of(Tone::Warn, format!("waiting {elapsed}"))
        } else {
            self.estimate(Line::of(Tone::Plain, elapsed))
        };
        let lead = Line::of(Tone::Busy, self.spinner()).add(Tone::Plain, " ");
        flow(lead, pieces, Some(clock), self.size.columns, self.palette)
    }

    fn estimate(&self, clock: Line) -> Line {
        let m = self.model;
        let dot = self.palette.dot();
        let (Some(left), Some(usual)) = (m.left(self.now), m.expected()) else {
            return clock;
        };
        if !m.has_begun() || m.cancelled_by.is_some() {
            clock
        } else if left.is_zero() {
            let text = format!("usually {}", text::duration(usual));
            clock.add(Tone::Muted, dot).add(Tone::Warn, text)
        } else {
            let text = format!("about {} left", text::estimate(left));
            clock.add(Tone::Muted, dot).add(Tone::Plain, text)
        }
    }

    fn spinner(&self) -> &'static str {
        const DOTS: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
        const ASCII: [&str; 4] = ["|", "/", "-", "\\"];
        let step = usize::try_from(self.now.0 / 100).unwrap_or(0);
        if self.palette.unicode {
            DOTS[step % DOTS.len()]
        } else {
            ASCII[step % ASCII.len()]
        }
    }

    fn waiting(&self) -> Vec<Line> {
        const SHOWN: usize = 5;
        let waits = &self.model.waits_for;
        let mut lines: Vec<Line> = waits
            .iter()
            .take(SHOWN)
            .flat_map(|w| {
                let pieces: Vec<Line> = waits_for(w, self.now, self.zone)
                    .into_iter()
                    .map(|p| Line::of(Tone::Plain, p))
                    .collect();
                self.flow(pieces)
            })
            .collect();
        if waits.len() > SHOWN {
            let text = format!("and for {} more", waits.len() - SHOWN);
            lines.push(indented(Line::of(Tone::Muted, text)));
        }
        lines
    }

    /// Number, name, time of the present task; a slow one is called out.
    fn task(&self) -> Vec<Line> {
        let m = self.model;
        let Some((no, task)) = m.current_task() else {
            return Vec::new();
        };
        let number = match m.expected_tasks {
            Some(n) if no.0 <= n => format!("task {} of about {n}", no.0),
            _ => format!("task {}", no.0),
        };
        let mut pieces = vec![
            Line::of(Tone::Muted, number),
            Line::of(Tone::Strong, task.name.clone()),
        ];
        let took = text::duration(task.took(self.now));
        match task.slower_than(self.now) {
            Some(usual) => pieces.push(Line::of(
                Tone::Warn,
                format!("! {took}, usually {}", text::duration(usual)),
            )),
            None if task.took(self.now).as_secs() >= 3 => {
                pieces.push(Line::of(Tone::Plain, took));
            }
            None => {}
        }
        self.flow(pieces)
    }

    /// Indented, side by side.
    pub(super) fn flow(&self, pieces: Vec<Line>) -> Vec<Line> {
        if pieces.is_empty() {
            return Vec::new();
        }
        let lead = Line::of(Tone::Plain, "  ");
        flow(lead, pieces, None, self.size.columns, self.palette)
    }
}

/// "waits for lab1: run 11", "started by ana@ops1", "since 09:30:12, 5 min ago".
pub(super) fn waits_for(w: &WaitsFor, now: Timestamp, zone: &TimeZone) -> Vec<String> {
    let mut pieces = vec![match (&w.host, w.run) {
        (Some(host), Some(run)) => format!("waits for {}: run {run}", text::line(host)),
        (Some(host), None) => format!("waits for {}", text::line(host)),
        (None, Some(run)) => format!("waits for a free slot: run {run}"),
        (None, None) => "waits for a free slot".to_owned(),
    }];
    if let Some(r) = &w.requester {
        pieces.push(format!(
            "started by {}@{}",
            text::line(&r.user),
            text::line(&r.host)
        ));
    }
    if let Some(since) = w.since {
        pieces.push(format!(
            "since {}, {}",
            time::of_day(since, zone),
            text::ago(since, now)
        ));
    }
    pieces
}

pub(super) fn indented(line: Line) -> Line {
    Line::of(Tone::Plain, "  ").join(line)
}
