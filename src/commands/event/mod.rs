//! Audit records.

mod list;
pub(in crate::commands) mod view;

use clap::Subcommand;

use crate::context::Context;
use crate::error::Error;

/// What was changed, when, by whom
#[derive(Debug, Subcommand)]
#[command(
    before_help = "Example:\n  kloigos event list --limit 20",
    disable_help_subcommand = true
)]
pub enum EventCommand {
    List(list::ListArgs),
}

impl EventCommand {
    pub fn run(self, cx: &Context) -> Result<(), Error> {
        match self {
            EventCommand::List(args) => list::run(cx, args),
        }
    }
}
