//! The history of runs.

mod again;
mod cancel;
mod diff;
mod follow;
mod grep;
mod list;
mod output;
mod prune;
mod rerun;
mod retry;
mod show;
pub(in crate::commands) mod view;

use clap::Subcommand;

use crate::context::Context;
use crate::error::Error;

/// The history of runs
#[derive(Debug, Subcommand)]
#[command(
    before_help = "Example:\n  kloigos runs list --limit 20",
    disable_help_subcommand = true
)]
pub enum RunsCommand {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Output(output::OutputArgs),
    Follow(follow::FollowArgs),
    Cancel(cancel::CancelArgs),
    Rerun(rerun::RerunArgs),
    Retry(retry::RetryArgs),
    Diff(diff::DiffArgs),
    Grep(grep::GrepArgs),
    Prune(prune::PruneArgs),
}

impl RunsCommand {
    pub fn run(self, cx: &Context) -> Result<(), Error> {
        match self {
            RunsCommand::List(args) => list::run(cx, args),
            RunsCommand::Show(args) => show::run(cx, args),
            RunsCommand::Output(args) => output::run(cx, args),
            RunsCommand::Follow(args) => follow::run(cx, args),
            RunsCommand::Cancel(args) => cancel::run(cx, args),
            RunsCommand::Rerun(args) => rerun::run(cx, args),
            RunsCommand::Retry(args) => retry::run(cx, args),
            RunsCommand::Diff(args) => diff::run(cx, args),
            RunsCommand::Grep(args) => grep::run(cx, args),
            RunsCommand::Prune(args) => prune::run(cx, args),
        }
    }
}
