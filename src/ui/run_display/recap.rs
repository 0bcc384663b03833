//! The end of a run: what it came to, what took longest, what to do next.

use std::time::Duration;

use super::announce::{Announcer, in_flight_lines};
use super::hosts::{count_pieces, host_lines};
use super::line::{Line, flow};
use super::model::{End, Model, Task};
use crate::domain::lifecycle::Lifecycle;
use crate::domain::run::{RunEnding, RunStatus};
use crate::domain::run_event::{HostCounts, TaskNo};
use crate::ui::text;
use crate::ui::tone::{Palette, Tone};
use crate::ui::view::verdict_tone;

/// So many hosts at most have a line in the recap; where there are more, only
/// those with problems have one.
const HOSTS: usize = 20;
const SLOWEST: usize = 3;

/// `width`: None leaves lines unwrapped.
pub(super) fn recap(
    model: &Model,
    end: &End,
    announcer: &Announcer,
    width: Option<usize>,
    palette: Palette,
) -> String {
    let mut out = String::new();
    let width = width.unwrap_or(usize::MAX);
    let mut say = |line: &Line| {
        for part in line.wrap(width) {
            out.push_str(&part.paint(usize::MAX, palette));
            out.push('\n');
        }
    };
    for line in verdict(model, end, width, palette) {
        say(&line);
    }
    if let Some(reason) = &end.reason {
        say(&Line::of(Tone::Plain, format!("  {}", text::line(reason))));
    }
    if let Some(hint) = &end.hint {
        say(&Line::of(
            Tone::Plain,
            format!("  hint: {}", text::line(hint)),
        ));
    }
    // Where Kloigos itself knows why, Ansible's banners say nothing more.
    let known = matches!(end.ending, RunEnding::NoHosts | RunEnding::ClaimTimeout);
    if end.ending.status() == RunStatus::Failed && !known {
        announcer.last_words().iter().for_each(&mut say);
    }
    if !end.in_flight.is_empty() {
        say(&Line::of(
            Tone::Warn,
            "  cut short; on these hosts the work may still go on:",
        ));
        in_flight_lines(&end.in_flight).iter().for_each(&mut say);
    }
    hosts(&end.hosts, width, palette).iter().for_each(&mut say);
    slowest(model).iter().for_each(&mut say);
    // Never broken: somebody will copy it.
    for command in next(model, end) {
        let line = Line::of(Tone::Muted, "  next: ").add(Tone::Plain, command);
        out.push_str(&line.paint(usize::MAX, palette));
        out.push('\n');
    }
    out
}

fn verdict(model: &Model, end: &End, width: usize, palette: Palette) -> Vec<Line> {
    let tone = Tone::from(end.status);
    let run = model.run.map(|r| format!("run {r}: ")).unwrap_or_default();
    let word = match end.ending {
        RunEnding::WouldChange => "success, would change".to_owned(),
        RunEnding::NoHosts => "failed, nothing was done".to_owned(),
        RunEnding::ClaimTimeout => "failed, its turn did not come".to_owned(),
        RunEnding::Success
        | RunEnding::TaskFailed
        | RunEnding::Unreachable
        | RunEnding::TargetMissed
        | RunEnding::AnsibleError
        | RunEnding::CancelledHup
        | RunEnding::CancelledInt
        | RunEnding::CancelledTerm
        | RunEnding::Interrupted => end.status.to_string(),
    };
    let mut pieces = vec![
        Line::of(tone, format!("{run}{word}"))
            .add(Tone::Plain, format!(" in {}", text::duration(end.elapsed))),
        Line::of(Tone::Plain, model.playbook.clone()),
    ];
    if let Some(subject) = &model.subject {
        pieces.push(Line::of(Tone::Plain, subject.clone()));
    }
    if model.check {
        pieces.push(Line::of(Tone::Warn, "check, nothing was changed"));
    }
    let lead = Line::of(tone, format!("{} ", palette.mark(tone)));
    flow(lead, pieces, None, width, palette)
}

/// Those with problems first, then those that changed.
fn hosts(hosts: &[HostCounts], width: usize, palette: Palette) -> Vec<Line> {
    let mut sorted: Vec<&HostCounts> = hosts.iter().collect();
    sorted.sort_by_key(|h| {
        let rank = [h.unreachable > 0, h.failed > 0, h.changed > 0];
        (std::cmp::Reverse(rank), h.host.clone())
    });
    let shown = match sorted.len() {
        n if n <= HOSTS => n,
        _ => sorted
            .iter()
            .take_while(|h| h.failed + h.unreachable > 0)
            .count()
            .min(HOSTS),
    };
    let (shown, rest) = sorted.split_at(shown);
    let name = shown.iter().map(|h| text::width(&h.host)).max();
    let name = name.unwrap_or(0).min(width / 2);
    let mut lines: Vec<Line> = shown
        .iter()
        .flat_map(|h| {
            let host = text::line(&h.host);
            let word = h.verdict().to_owned();
            let tone = verdict_tone(h);
            host_lines(&host, name, tone, word, count_pieces(h), width, palette)
        })
        .collect();
    if !rest.is_empty() {
        let total = match shown.len() {
            0 => text::count(rest.len(), "host"),
            _ => format!("and {}", text::count(rest.len(), "more host")),
        };
        let mut pieces = vec![Line::of(Tone::Strong, total)];
        for verdict in ["unreachable", "failed", "changed", "ok", "no result"] {
            let mut of = rest.iter().filter(|h| h.verdict() == verdict).peekable();
            if let Some(first) = of.peek() {
                let tone = verdict_tone(first);
                pieces.push(Line::of(tone, format!("{} {verdict}", of.count())));
            }
        }
        let lead = Line::of(Tone::Plain, "  ");
        lines.extend(flow(lead, pieces, None, width, palette));
    }
    lines
}

fn slowest(model: &Model) -> Vec<Line> {
    let mut tasks: Vec<(&TaskNo, &Task, Duration)> = model
        .tasks
        .iter()
        .filter_map(|(no, t)| {
            let took = t.last_result_at?.since(t.started_at);
            (took >= Duration::from_secs(1)).then_some((no, t, took))
        })
        .collect();
    if tasks.is_empty() || model.tasks.len() < 2 {
        return Vec::new();
    }
    tasks.sort_by_key(|(no, _, took)| (std::cmp::Reverse(*took), **no));
    tasks
        .iter()
        .take(SLOWEST)
        .enumerate()
        .map(|(i, (_, task, took))| {
            let lead = if i == 0 { "  slowest: " } else { "           " };
            let took = text::duration(*took);
            let line = Line::of(Tone::Muted, lead).add(
                Tone::Plain,
                format!("{} {}", text::pad(&took, 6), task.name),
            );
            let end = task.last_result_at.unwrap_or(task.started_at);
            match task.slower_than(end) {
                Some(usual) => {
                    line.add(Tone::Warn, format!(" (usually {})", text::duration(usual)))
                }
                None => line,
            }
        })
        .collect()
}

/// The commands that one is likely to want now.
fn next(model: &Model, end: &End) -> Vec<String> {
    let Some(run) = model.run else {
        return Vec::new();
    };
    let show = format!("kloigos runs show {run}");
    let name = model.playbook.split('@').next().unwrap_or_default();
    let of = model
        .subject
        .as_deref()
        .and_then(|s| s.split_once(' '))
        .map(|(_, id)| id);
    let good = end.status == RunStatus::Success;
    let command = match (Lifecycle::of_playbook(name), of, good) {
        _ if model.check => None,
        (Some(Lifecycle::ServerInit), Some(id), true) => {
            Some(format!("kloigos cu list --server {id}"))
        }
        (Some(Lifecycle::ServerInit), Some(id), false) => Some(format!("kloigos server init {id}")),
        (Some(Lifecycle::AllocationCreate), Some(id), true) => {
            Some(format!("kloigos alloc ssh {id}"))
        }
        (Some(Lifecycle::AllocationCreate), Some(id), false) => {
            Some(format!("kloigos alloc retry {id}"))
        }
        (Some(Lifecycle::AllocationDelete), Some(id), false) => {
            Some(format!("kloigos alloc delete {id}"))
        }
        _ => None,
    };
    match (command, good) {
        (Some(command), true) => vec![command],
        (None, true) => vec![show],
        (Some(again), false) => vec![show, again],
        // Where hosts were cut short, work may go on there.
        (None, false) if !end.in_flight.is_empty() => {
            vec![
                format!("{show} --probe"),
                format!("kloigos runs retry {run}"),
            ]
        }
        (None, false) if end.hosts.is_empty() || end.ending == RunEnding::NoHosts => vec![show],
        (None, false) => vec![show, format!("kloigos runs retry {run}")],
    }
}
