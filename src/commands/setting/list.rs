use clap::Args;

use super::view;
use crate::context::Context;
use crate::error::Error;
use crate::ops;
use crate::ui::{Cell, Table, Tone, View, column};

/// List settings
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos setting list")]
pub struct ListArgs {}

pub fn run(cx: &Context, _: ListArgs) -> Result<(), Error> {
    let opened = cx.reader()?;
    let settings = ops::settings::list(&opened.services())?;
    cx.ui.show(&settings, || {
        let rows = settings.iter().map(|s| {
            let tone = if s.is_default {
                Tone::Plain
            } else {
                Tone::Changed
            };
            vec![
                Cell::new(s.name),
                Cell::toned(view::value(s), tone),
                Cell::toned(view::text(&s.default), Tone::Muted),
                Cell::new(s.kind),
                Cell::new(s.description),
            ]
        });
        View::list(
            Table::new([
                column("setting"),
                column("value"),
                column("default").optional(1),
                column("type").optional(2),
                column("meaning").wraps(),
            ])
            .rows(rows),
            "no settings",
        )
    })
}
