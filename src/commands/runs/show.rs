use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::view;
use crate::context::Context;
use crate::domain::playbook::ContentKind;
use crate::domain::run::{RunEnding, RunId};
use crate::error::{Error, Kind};
use crate::ops;
use crate::ops::runs::{Look, RunContent, RunDetail, TaskSummary};
use crate::ui::{Cell, Format, Table, Tone, View, column, count, duration};

/// Show a run: hosts, tasks, failures, timing
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  kloigos runs show 12
  kloigos runs show 12 --playbook
  kloigos runs show 12 --probe")]
pub struct ShowArgs {
    /// Number of the run
    #[arg(value_name = "ID")]
    run: RunId,

    /// Ask the hosts over SSH whether something of the run is still at work there
    #[arg(long)]
    probe: bool,

    /// Show the playbook in its place, exactly as it ran
    #[arg(long, conflicts_with = "probe")]
    playbook: bool,
}

/// The run, and what its hosts say when they are asked.
#[derive(Serialize)]
struct Probed<'a> {
    #[serde(flatten)]
    detail: &'a RunDetail,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_work: Option<&'a [Look]>,
}

pub fn run(cx: &Context, args: ShowArgs) -> Result<(), Error> {
    let opened = cx.reader()?;
    let services = opened.services();
    if args.playbook {
        let content = ops::runs::content(&services, args.run)?;
        return playbook(cx, &content);
    }
    let detail = ops::runs::show(&services, args.run)?;
    let looks = match args.probe {
        true => Some(ops::runs::strays(&services, args.run)?),
        false => None,
    };
    let shown = Probed {
        detail: &detail,
        at_work: looks.as_deref(),
    };
    cx.ui.show(&shown, || {
        let mut view = View::new().fields(view::fields(cx, &detail.run));
        if !detail.waits_for.is_empty() {
            view = view.heading("Waits for").prose(
                detail
                    .waits_for
                    .iter()
                    .map(|w| view::waits_for(cx, w) + "\n")
                    .collect::<String>(),
            );
        }
        view = failures(view, &detail);
        if let Some(looks) = &looks {
            view = at_work(view, looks);
        }
        view.section("Hosts", view::hosts(&detail.hosts))
            .section("Tasks", tasks(&detail.tasks))
    })?;
    let silent = looks.iter().flatten().filter(|l| l.not_asked.is_some());
    match silent.count() {
        0 => Ok(()),
        n => Err(Error::new(
            Kind::WouldEnd(RunEnding::Unreachable),
            format!("{} could not be asked", count(n, "host")),
        )),
    }
}

fn at_work(view: View, looks: &[Look]) -> View {
    let mut view = view.heading("Still at work");
    let idle: Vec<&str> = looks
        .iter()
        .filter(|l| l.strays.is_empty() && l.not_asked.is_none())
        .map(|l| l.host.as_str())
        .collect();
    if !idle.is_empty() || looks.is_empty() {
        let on = match looks.is_empty() {
            true => "no host: the run reached none".to_owned(),
            false => idle.join(", "),
        };
        view = view.prose(format!("nothing on {on}"));
    }
    for look in looks {
        if let Some(why) = &look.not_asked {
            view = view.prose(format!("{} could not be asked: {why}", look.host));
        }
        for stray in &look.strays {
            let since = duration(Duration::from_secs(stray.seconds));
            view = view.prose(format!(
                "{}: process {}, for {since}: {}",
                look.host, stray.pid, stray.command
            ));
        }
    }
    view
}

/// A single file is nothing but its bytes; those of a bundle have a line with
/// the name before each.
fn playbook(cx: &Context, content: &RunContent) -> Result<(), Error> {
    if cx.ui.format() != Format::Table {
        return cx.ui.show(content, View::new);
    }
    for (number, file) in content.files.iter().enumerate() {
        if content.kind == ContentKind::Bundle {
            let gap = if number == 0 { "" } else { "\n" };
            let header = format!("{gap}==> {} <==\n", file.path);
            if cx.ui.write_text(&header).is_break() {
                break;
            }
        }
        if cx.ui.write_exact(&file.bytes).is_break() {
            break;
        }
    }
    Ok(())
}

fn failures(mut view: View, detail: &RunDetail) -> View {
    if detail.failures.is_empty() {
        return view;
    }
    view = view.heading("Failures");
    for f in &detail.failures {
        let mut text = format!("{} {}: {}", f.host, f.status, f.task);
        if let Some(message) = &f.message {
            for line in message.trim_end().lines() {
                text.push_str("\n    ");
                text.push_str(line);
            }
        }
        view = view.prose(text);
    }
    view
}

fn tasks(tasks: &[TaskSummary]) -> Table {
    type Count = fn(&TaskSummary) -> u32;
    // Columns that would be all zeros say nothing.
    let rare: [(&'static str, Count, Tone); 5] = [
        ("failed", |t| t.failed, Tone::Bad),
        ("unreachable", |t| t.unreachable, Tone::Bad),
        ("skipped", |t| t.skipped, Tone::Plain),
        ("rescued", |t| t.rescued, Tone::Warn),
        ("ignored", |t| t.ignored, Tone::Warn),
    ];
    let shown: Vec<_> = rare
        .into_iter()
        .filter(|(_, of, _)| tasks.iter().any(|t| of(t) > 0))
        .collect();
    let columns = [
        column("no").right(),
        column("task").wraps(),
        column("took").right(),
        column("ok").right(),
        column("changed").right(),
    ];
    let more = shown.iter().map(|(name, _, _)| column(name).right());
    Table::new(columns.into_iter().chain(more).collect::<Vec<_>>()).rows(tasks.iter().map(|t| {
        let mut row = vec![
            Cell::new(t.task.0),
            Cell::new(&t.name),
            Cell::new(duration(Duration::from_millis(t.duration_ms))),
            Cell::count(t.ok, Tone::Good),
            Cell::count(t.changed, Tone::Changed),
        ];
        row.extend(shown.iter().map(|(_, of, tone)| Cell::count(of(t), *tone)));
        row
    }))
}
