//! Settings of the store.

mod get;
mod list;
mod reset;
mod set;
mod view;

use clap::Subcommand;

use crate::context::Context;
use crate::error::Error;

/// Settings of the store
#[derive(Debug, Subcommand)]
#[command(
    before_help = "Example:\n  kloigos setting list",
    disable_help_subcommand = true
)]
pub enum SettingCommand {
    List(list::ListArgs),
    Get(get::GetArgs),
    Set(set::SetArgs),
    Reset(reset::ResetArgs),
}

impl SettingCommand {
    pub fn run(self, cx: &Context) -> Result<(), Error> {
        match self {
            SettingCommand::List(args) => list::run(cx, args),
            SettingCommand::Get(args) => get::run(cx, args),
            SettingCommand::Set(args) => set::run(cx, args),
            SettingCommand::Reset(args) => reset::run(cx, args),
        }
    }
}
