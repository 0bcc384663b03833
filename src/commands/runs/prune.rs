use clap::Args;

use crate::context::Context;
use crate::domain::duration;
use crate::error::Error;
use crate::ops;
use crate::ui::{Cell, View, count};

/// Remove old runs, their output, and old events
///
/// Runs that live, and those that a server or an allocation names as its last
/// one, always stay.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  kloigos runs prune
  kloigos runs prune --older-than 30d --keep 1000 --yes")]
pub struct PruneArgs {
    /// Those that ended longer ago: 12h, 30d [default: setting data.retention_days]
    #[arg(long, value_name = "DUR", value_parser = duration::parse)]
    older_than: Option<std::time::Duration>,

    /// So many of the newest runs stay, however old
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    keep: u32,
}

pub fn run(cx: &Context, args: PruneArgs) -> Result<(), Error> {
    let opened = cx.writer()?;
    let services = opened.services();
    let old = ops::runs::old(&services, args.older_than, args.keep)?;
    let would = ops::runs::prunable(&services, old)?;
    let pruned = if would.runs + would.events == 0 {
        cx.ui.note("nothing is that old");
        would
    } else {
        let n = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let consequence = format!(
            "This removes {} with their output and {}, all from before {}.",
            count(n(would.runs), "run"),
            count(n(would.events), "event"),
            cx.ui.at(old.before)
        );
        cx.ui.confirm("prune", &consequence)?;
        ops::runs::prune(&services, old)?
    };
    cx.ui.show(&pruned, || {
        View::new().fields([
            ("removed runs", Cell::new(pruned.runs)),
            ("removed events", Cell::new(pruned.events)),
            ("from before", Cell::new(cx.ui.at(pruned.old.before))),
        ])
    })
}
