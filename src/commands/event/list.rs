use clap::Args;

use super::view;
use crate::commands::arguments::subject;
use crate::context::Context;
use crate::domain::run::RunId;
use crate::error::Error;
use crate::ops;
use crate::ops::EventFilter;
use crate::ui::View;

/// List events, newest first
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  kloigos event list --limit 20
  kloigos event list --subject 'allocation web'")]
pub struct ListArgs {
    /// Those about one thing: 'server lab1', 'allocation web'
    #[arg(long, value_parser = subject)]
    subject: Option<String>,

    /// Those of one kind, as in server.added
    #[arg(long)]
    kind: Option<String>,

    /// Those of one run
    #[arg(long, value_name = "ID")]
    run: Option<RunId>,

    /// At most so many
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

pub fn run(cx: &Context, args: ListArgs) -> Result<(), Error> {
    let filtered = args.subject.is_some() || args.kind.is_some() || args.run.is_some();
    let filter = EventFilter {
        subject: args.subject,
        kind: args.kind,
        run: args.run,
        limit: args.limit,
    };
    let opened = cx.reader()?;
    let events = ops::events::list(&opened.services(), &filter)?;
    cx.ui.show(&events, || {
        View::list(
            view::table(cx, &events),
            if filtered {
                "no such events"
            } else {
                "no events yet"
            },
        )
    })
}
