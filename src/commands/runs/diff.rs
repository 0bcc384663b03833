use std::time::Duration;

use clap::Args;

use crate::context::Context;
use crate::domain::run::RunId;
use crate::error::Error;
use crate::ops;
use crate::ops::runs::RunDiff;
use crate::ui::{Cell, Table, View, column, duration};

/// Show what differs between two runs
///
/// What was asked (version, variables, options), hosts and tasks with another
/// result, and tasks that took notably longer in B.
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos runs diff 11 12")]
pub struct DiffArgs {
    /// Number of the one run
    #[arg(value_name = "A")]
    a: RunId,

    /// Number of the other run
    #[arg(value_name = "B")]
    b: RunId,
}

pub fn run(cx: &Context, args: DiffArgs) -> Result<(), Error> {
    let opened = cx.reader()?;
    let diff = ops::runs::diff(&opened.services(), args.a, args.b)?;
    cx.ui.show(&diff, || {
        let sections = [
            ("Runs", fields(&diff)),
            ("Hosts", hosts(&diff)),
            ("Tasks", tasks(&diff)),
            ("Slower", slower(&diff)),
        ];
        if sections.iter().all(|(_, table)| table.is_empty()) {
            let [(_, empty), ..] = sections;
            return View::list(empty, "no differences");
        }
        sections
            .into_iter()
            .fold(View::new(), |view, (name, table)| view.section(name, table))
    })
}

fn fields(diff: &RunDiff) -> Table {
    let shown = |field: &str, value: &serde_json::Value| match value {
        serde_json::Value::Null => Cell::optional(None::<String>),
        // The text "1" and the number 1 are not the same variable.
        serde_json::Value::String(s) if !field.starts_with("variable ") => Cell::new(s),
        other => Cell::new(other),
    };
    Table::new([column("what"), column("a").wraps(), column("b").wraps()]).rows(
        diff.fields.iter().map(|f| {
            vec![
                Cell::new(&f.field),
                shown(&f.field, &f.a),
                shown(&f.field, &f.b),
            ]
        }),
    )
}

fn hosts(diff: &RunDiff) -> Table {
    Table::new([column("host"), column("a"), column("b")]).rows(
        diff.hosts
            .iter()
            .map(|h| vec![Cell::new(&h.host), Cell::optional(h.a), Cell::optional(h.b)]),
    )
}

fn tasks(diff: &RunDiff) -> Table {
    Table::new([
        column("host"),
        column("a"),
        column("b"),
        column("task").wraps(),
    ])
    .rows(diff.tasks.iter().map(|t| {
        vec![
            Cell::new(&t.host),
            Cell::optional(t.a),
            Cell::optional(t.b),
            Cell::new(&t.task),
        ]
    }))
}

fn slower(diff: &RunDiff) -> Table {
    let took = |ms| Cell::new(duration(Duration::from_millis(ms)));
    Table::new([
        column("a").right(),
        column("b").right(),
        column("task").wraps(),
    ])
    .rows(
        diff.slower
            .iter()
            .map(|t| vec![took(t.a_ms), took(t.b_ms), Cell::new(&t.task)]),
    )
}
