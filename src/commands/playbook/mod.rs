//! Playbooks and their versions.

mod check;
mod diff;
mod edit;
mod export;
mod list;
mod push;
mod remove;
mod rollback;
mod set_default;
mod show;
mod validate;
mod versions;
mod view;

use clap::Subcommand;

use crate::context::Context;
use crate::error::Error;

/// Playbooks and their versions
#[derive(Debug, Subcommand)]
#[command(
    before_help = "Example:\n  kloigos playbook push PATCH ./patch.yml -m 'monthly updates'",
    disable_help_subcommand = true
)]
pub enum PlaybookCommand {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Versions(versions::VersionsArgs),
    Push(push::PushArgs),
    Edit(edit::EditArgs),
    Diff(diff::DiffArgs),
    SetDefault(set_default::SetDefaultArgs),
    Rollback(rollback::RollbackArgs),
    Export(export::ExportArgs),
    Validate(validate::ValidateArgs),
    Remove(remove::RemoveArgs),
}

impl PlaybookCommand {
    pub fn run(self, cx: &Context) -> Result<(), Error> {
        match self {
            PlaybookCommand::List(args) => list::run(cx, args),
            PlaybookCommand::Show(args) => show::run(cx, args),
            PlaybookCommand::Versions(args) => versions::run(cx, args),
            PlaybookCommand::Push(args) => push::run(cx, args),
            PlaybookCommand::Edit(args) => edit::run(cx, args),
            PlaybookCommand::Diff(args) => diff::run(cx, args),
            PlaybookCommand::SetDefault(args) => set_default::run(cx, args),
            PlaybookCommand::Rollback(args) => rollback::run(cx, args),
            PlaybookCommand::Export(args) => export::run(cx, args),
            PlaybookCommand::Validate(args) => validate::run(cx, args),
            PlaybookCommand::Remove(args) => remove::run(cx, args),
        }
    }
}
