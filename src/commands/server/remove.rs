use clap::Args;

use crate::context::Context;
use crate::domain::name::Hostname;
use crate::error::Error;
use crate::ops;
use crate::ui::{Cell, View, count};

/// Forget a server
///
/// The host itself is not touched. A server that still carries allocations or
/// settings of Kloigos is refused, except with --lost.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  kloigos server remove lab1
  kloigos server remove lab1 --lost")]
pub struct RemoveArgs {
    /// Name of the server
    host: Hostname,

    /// The hardware is gone: close its allocations and free their addresses
    #[arg(long)]
    lost: bool,
}

pub fn run(cx: &Context, args: RemoveArgs) -> Result<(), Error> {
    let opened = cx.writer()?;
    let services = opened.services();
    let detail = ops::servers::show(&services, &args.host)?;
    let host = &detail.server.hostname;
    detail
        .server
        .may_remove(detail.allocations.len(), args.lost)?;
    let consequence = if args.lost && !detail.allocations.is_empty() {
        format!(
            "This forgets server {host} and closes {} as lost, although the host was not cleaned.",
            count(detail.allocations.len(), "allocation")
        )
    } else {
        format!("This forgets server {host}; the host itself is not touched.")
    };
    cx.ui.confirm(host.as_str(), &consequence)?;
    let removed = ops::servers::remove(&services, host, args.lost)?;
    cx.ui.show(&removed, || {
        let list = |items: Vec<String>| match items.as_slice() {
            [] => Cell::optional(None::<String>),
            _ => Cell::new(items.join(", ")),
        };
        View::new().fields([
            ("removed", Cell::new(&removed.hostname)),
            (
                "closed allocations",
                list(
                    removed
                        .closed_allocations
                        .iter()
                        .map(ToString::to_string)
                        .collect(),
                ),
            ),
            (
                "freed addresses",
                list(
                    removed
                        .freed_addresses
                        .iter()
                        .map(ToString::to_string)
                        .collect(),
                ),
            ),
        ])
    })
}
