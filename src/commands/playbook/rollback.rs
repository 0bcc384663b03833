use clap::Args;

use super::view;
use crate::context::Context;
use crate::domain::name::PlaybookName;
use crate::error::Error;
use crate::ops;

/// Go back to the previous default version
///
/// A second rollback goes one further back. Nothing is removed.
#[derive(Debug, Args)]
#[command(
    before_help = "Example:\n  kloigos playbook rollback SERVER_INIT\n  kloigos playbook rollback SERVER_INIT --to 1"
)]
pub struct RollbackArgs {
    /// Name of the playbook
    name: PlaybookName,

    /// Another version than the previous default
    #[arg(long, value_name = "V")]
    to: Option<u32>,
}

pub fn run(cx: &Context, args: RollbackArgs) -> Result<(), Error> {
    let opened = cx.writer()?;
    let change = ops::playbooks::roll_back(&opened.services(), &args.name, args.to)?;
    view::default_change(cx, &change)
}
