//! Allocations: the workloads' durable identities.

mod create;
mod delete;
mod list;
mod retry;
mod show;
mod ssh;
pub(in crate::commands) mod view;

use clap::Subcommand;

use crate::context::Context;
use crate::error::Error;

/// Allocations: a workload's user, address, CPUs and storage
#[derive(Debug, Subcommand)]
#[command(
    before_help = "Example:\n  kloigos alloc create web --key ~/.ssh/id_ed25519.pub",
    disable_help_subcommand = true
)]
pub enum AllocCommand {
    Create(create::CreateArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Delete(delete::DeleteArgs),
    Retry(retry::RetryArgs),
    Ssh(ssh::SshArgs),
}

impl AllocCommand {
    pub fn run(self, cx: &Context) -> Result<(), Error> {
        match self {
            AllocCommand::Create(args) => create::run(cx, args),
            AllocCommand::List(args) => list::run(cx, args),
            AllocCommand::Show(args) => show::run(cx, args),
            AllocCommand::Delete(args) => delete::run(cx, args),
            AllocCommand::Retry(args) => retry::run(cx, args),
            AllocCommand::Ssh(args) => ssh::run(cx, args),
        }
    }
}
