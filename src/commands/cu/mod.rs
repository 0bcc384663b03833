//! Compute units: slices of servers.

mod disable;
mod enable;
mod list;
mod show;
mod unit;
pub(in crate::commands) mod view;

use clap::Subcommand;

use crate::context::Context;
use crate::error::Error;

/// Compute units: slices of servers
#[derive(Debug, Subcommand)]
#[command(
    before_help = "Example:\n  kloigos cu list",
    disable_help_subcommand = true
)]
pub enum CuCommand {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Enable(enable::EnableArgs),
    Disable(disable::DisableArgs),
}

impl CuCommand {
    pub fn run(self, cx: &Context) -> Result<(), Error> {
        match self {
            CuCommand::List(args) => list::run(cx, args),
            CuCommand::Show(args) => show::run(cx, args),
            CuCommand::Enable(args) => enable::run(cx, args),
            CuCommand::Disable(args) => disable::run(cx, args),
        }
    }
}
