//! The hosts in the picture: a line each while they are few, else a summary.

use super::frame::{Scene, indented};
use super::line::{Line, flow};
use super::model::{Host, HostState};
use crate::domain::run_event::{HostCounts, ResultStatus};
use crate::ui::text;
use crate::ui::tone::{Palette, Tone};

/// Up to so many hosts have a line each; more are summarised.
const HOST_LINES: usize = 12;

impl Scene<'_> {
    /// At most `room` lines.
    pub(super) fn hosts(&self, room: usize) -> Vec<Line> {
        let m = self.model;
        let hosts = m.hosts();
        if hosts.len() <= HOST_LINES && hosts.len() <= room {
            let name = hosts.iter().map(|h| text::width(&h.name)).max();
            let name = name.unwrap_or(0).min(self.size.columns / 2);
            let mut lines: Vec<Line> = hosts.iter().map(|h| self.host_line(h, name)).collect();
            if hosts.len() > 1 && lines.len() < room {
                lines.extend(self.flow(self.results()));
            }
            return lines;
        }
        self.summary(room)
    }

    fn host_line(&self, host: &Host, name: usize) -> Line {
        let (tone, word) = self.word(host);
        // The word says already that it failed.
        let mut sum = host.counts.clone();
        match self.model.state(host) {
            HostState::Failed => sum.failed = 0,
            HostState::Unreachable => sum.unreachable = 0,
            _ => {}
        }
        let sum = count_pieces(&sum);
        host_lines(
            &host.name,
            name,
            tone,
            word,
            sum,
            self.size.columns,
            self.palette,
        )
        .swap_remove(0)
    }

    /// What all hosts together have answered.
    fn results(&self) -> Vec<Line> {
        let mut pieces = count_pieces(&self.model.totals());
        if let Some(first) = pieces.first_mut() {
            *first = Line::of(Tone::Muted, "results: ").join(first.clone());
        }
        pieces
    }

    /// The host's state in a word, with its tone.
    fn word(&self, host: &Host) -> (Tone, String) {
        match self.model.state(host) {
            HostState::Unreachable => (Tone::Bad, "unreachable".to_owned()),
            HostState::Failed => (Tone::Bad, "failed".to_owned()),
            HostState::Running => {
                let since = host.running.map_or(self.now, |(_, at)| at);
                let time = self.now.since(since);
                let word = if time.as_secs() >= 3 {
                    format!("running {}", text::clock(time))
                } else {
                    "running".to_owned()
                };
                (Tone::Busy, word)
            }
            HostState::Waiting => (Tone::Muted, "waiting".to_owned()),
            HostState::Done(status) => (status.into(), status.to_string()),
            HostState::Idle => (Tone::Muted, "not in play".to_owned()),
        }
    }

    /// Many hosts: a bar, the states counted, then the hosts that need eyes,
    /// then those that take longest.
    fn summary(&self, room: usize) -> Vec<Line> {
        let m = self.model;
        let mut states: Vec<(HostState, &Host)> =
            m.hosts().iter().map(|h| (m.state(h), h)).collect();
        let groups = Groups::of(&states);
        let mut lines = vec![self.bar(&groups)];
        lines.extend(self.flow(groups.words()));
        lines.extend(self.flow(self.results()));
        states.retain(|(s, _)| *s <= HostState::Running);
        states.sort_by_key(|(s, h)| (*s, h.running.map(|(_, at)| at)));
        // One line less, to say how many more there are.
        let room = room.min(lines.len() + HOST_LINES).saturating_sub(1);
        let shown = states.len().min(room.saturating_sub(lines.len()));
        let name = states[..shown]
            .iter()
            .map(|(_, h)| text::width(&h.name))
            .max();
        let name = name.unwrap_or(0).min(self.size.columns / 2);
        lines.extend(states[..shown].iter().map(|(_, h)| self.host_line(h, name)));
        if states.len() > shown {
            let rest = &states[shown..];
            let bad = rest
                .iter()
                .filter(|(s, _)| *s != HostState::Running)
                .count();
            let running = rest.len() - bad;
            let text = match (bad, running) {
                (0, n) => format!("and {n} more running"),
                (n, 0) => format!("and {n} more with problems"),
                (b, r) => format!("and {b} more with problems, {r} running"),
            };
            lines.push(indented(Line::of(Tone::Muted, text)));
        }
        lines
    }

    /// Each state's share of the hosts, by a sign of its own.
    fn bar(&self, groups: &Groups) -> Line {
        let width = self.size.columns.saturating_sub(2).min(60);
        let total = groups.total().max(1);
        let signs = if self.palette.unicode {
            ["█", "▒", "░", "✘"]
        } else {
            ["#", "=", ".", "x"]
        };
        let bad = groups.unreachable + groups.failed;
        let parts = [
            (Tone::Good, groups.done + groups.idle),
            (Tone::Busy, groups.running),
            (Tone::Muted, groups.waiting),
            (Tone::Bad, bad),
        ];
        // A state that has a host at all is seen; the largest gives the room.
        let mut cells = parts.map(|(_, n)| match n {
            0 => 0,
            n => (n * width / total).max(1),
        });
        let largest = (0..cells.len()).max_by_key(|i| cells[*i]).unwrap_or(0);
        let others: usize = cells.iter().sum::<usize>() - cells[largest];
        cells[largest] = width.saturating_sub(others);
        let mut line = Line::of(Tone::Plain, "  ");
        for (((tone, _), n), sign) in parts.into_iter().zip(cells).zip(signs) {
            if n > 0 {
                line = line.add(tone, sign.repeat(n));
            }
        }
        line
    }
}

/// How many hosts are in which state.
struct Groups {
    unreachable: usize,
    failed: usize,
    running: usize,
    waiting: usize,
    done: usize,
    idle: usize,
}

impl Groups {
    fn of(states: &[(HostState, &Host)]) -> Self {
        let count = |f: fn(&HostState) -> bool| states.iter().filter(|(s, _)| f(s)).count();
        Groups {
            unreachable: count(|s| *s == HostState::Unreachable),
            failed: count(|s| *s == HostState::Failed),
            running: count(|s| *s == HostState::Running),
            waiting: count(|s| *s == HostState::Waiting),
            done: count(|s| matches!(s, HostState::Done(_))),
            idle: count(|s| *s == HostState::Idle),
        }
    }

    fn total(&self) -> usize {
        self.unreachable + self.failed + self.running + self.waiting + self.done + self.idle
    }

    fn words(&self) -> Vec<Line> {
        let mut pieces = vec![Line::of(Tone::Strong, text::count(self.total(), "host"))];
        for (n, word, tone) in [
            (self.unreachable, "unreachable", Tone::Bad),
            (self.failed, "failed", Tone::Bad),
            (self.done, "done", Tone::Good),
            (self.running, "running", Tone::Busy),
            (self.waiting, "waiting", Tone::Muted),
            (self.idle, "not in play", Tone::Muted),
        ] {
            if n > 0 {
                pieces.push(Line::of(tone, format!("{n} {word}")));
            }
        }
        pieces
    }
}

/// "12 ok", "3 changed", "1 failed"; nothing for zeros.
pub(super) fn count_pieces(c: &HostCounts) -> Vec<Line> {
    [
        (c.ok, ResultStatus::Ok.as_str(), Tone::Good),
        (c.changed, ResultStatus::Changed.as_str(), Tone::Changed),
        (c.failed, ResultStatus::Failed.as_str(), Tone::Bad),
        (c.unreachable, ResultStatus::Unreachable.as_str(), Tone::Bad),
        (c.skipped, ResultStatus::Skipped.as_str(), Tone::Muted),
        (c.rescued, "rescued", Tone::Warn),
        (c.ignored, ResultStatus::Ignored.as_str(), Tone::Warn),
    ]
    .into_iter()
    .filter(|(n, _, _)| *n > 0)
    .map(|(n, word, tone)| Line::of(tone, format!("{n} {word}")))
    .collect()
}

/// Mark, name, state, counts: in columns where they fit, else side by side.
pub(super) fn host_lines(
    host: &str,
    name: usize,
    tone: Tone,
    word: String,
    counts: Vec<Line>,
    width: usize,
    palette: Palette,
) -> Vec<Line> {
    let lead = Line::of(Tone::Plain, "  ")
        .add(tone, palette.mark(tone))
        .add(Tone::Plain, " ");
    let shown = text::fit(host, name).into_owned();
    let mut line = lead
        .clone()
        .add(Tone::Plain, format!("{}  ", text::pad(&shown, name)))
        .add(tone, text::pad(&word, 12));
    for (i, count) in counts.iter().enumerate() {
        line = line
            .add(Tone::Muted, if i == 0 { "  " } else { palette.dot() })
            .join(count.clone());
    }
    if line.width() <= width {
        return vec![line];
    }
    let mut pieces = vec![
        Line::of(Tone::Plain, shown)
            .add(Tone::Plain, " ")
            .add(tone, word),
    ];
    pieces.extend(counts);
    flow(lead, pieces, None, width, palette)
}
