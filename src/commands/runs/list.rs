use clap::Args;

use super::view;
use crate::commands::arguments::{one_of, subject};
use crate::context::Context;
use crate::domain::name::PlaybookName;
use crate::domain::run::RunStatus;
use crate::domain::since::Since;
use crate::error::Error;
use crate::ops;
use crate::ops::runs::RunFilter;
use crate::ui::View;

/// List runs, newest first
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  kloigos runs list --limit 20
  kloigos runs list --status failed --host lab1
  kloigos runs list --changed --since 7d")]
pub struct ListArgs {
    /// Those in one state
    #[arg(long, value_parser = one_of(RunStatus::ALL), ignore_case = true)]
    status: Option<RunStatus>,

    /// Those that touched this host
    #[arg(long)]
    host: Option<String>,

    /// Those of one playbook
    #[arg(long, value_name = "NAME")]
    playbook: Option<PlaybookName>,

    /// Those for one thing: 'server lab1', 'allocation web'
    #[arg(long, value_parser = subject)]
    subject: Option<String>,

    /// Those that were asked for since then: 2h, 7d, 2026-11-30
    #[arg(long, value_name = "DUR|DATE")]
    since: Option<Since>,

    /// Those that changed something on a host, checks apart
    #[arg(long)]
    changed: bool,

    /// At most so many
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

pub fn run(cx: &Context, args: ListArgs) -> Result<(), Error> {
    let filtered = args.status.is_some()
        || args.host.is_some()
        || args.playbook.is_some()
        || args.subject.is_some()
        || args.since.is_some()
        || args.changed;
    let filter = RunFilter {
        status: args.status,
        host: args.host,
        playbook: args.playbook,
        subject: args.subject,
        since: args.since.map(|s| cx.ui.moment(s)),
        changed: args.changed,
        limit: args.limit,
    };
    let opened = cx.reader()?;
    let runs = ops::runs::list(&opened.services(), &filter)?;
    cx.ui.show(&runs, || {
        View::list(
            view::table(cx, &runs),
            if filtered {
                "no such runs"
            } else {
                "no runs yet"
            },
        )
    })
}
