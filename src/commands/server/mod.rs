//! Servers: registered, initialised, shown, forgotten.

mod add;
mod confirm;
mod decommission;
mod edit;
mod init;
mod list;
mod recommission;
mod remove;
mod show;
pub(in crate::commands) mod view;

use clap::Subcommand;

use crate::context::Context;
use crate::error::Error;

/// Managed Linux machines
#[derive(Debug, Subcommand)]
#[command(
    before_help = "Example:\n  kloigos server list",
    disable_help_subcommand = true
)]
pub enum ServerCommand {
    Add(add::AddArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Edit(edit::EditArgs),
    Init(init::InitArgs),
    Decommission(decommission::DecommissionArgs),
    Recommission(recommission::RecommissionArgs),
    Remove(remove::RemoveArgs),
}

impl ServerCommand {
    pub fn run(self, cx: &Context) -> Result<(), Error> {
        match self {
            ServerCommand::Add(args) => add::run(cx, args),
            ServerCommand::List(args) => list::run(cx, args),
            ServerCommand::Show(args) => show::run(cx, args),
            ServerCommand::Edit(args) => edit::run(cx, args),
            ServerCommand::Init(args) => init::run(cx, args),
            ServerCommand::Decommission(args) => decommission::run(cx, args),
            ServerCommand::Recommission(args) => recommission::run(cx, args),
            ServerCommand::Remove(args) => remove::run(cx, args),
        }
    }
}
