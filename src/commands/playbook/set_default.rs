use clap::Args;

use super::view;
use crate::context::Context;
use crate::domain::name::PlaybookName;
use crate::error::Error;
use crate::ops;

/// Make another version the default
///
/// Runs that wait or are at work keep the version that they have.
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos playbook set-default SERVER_INIT 2")]
pub struct SetDefaultArgs {
    /// Name of the playbook
    name: PlaybookName,

    /// Its new default version
    #[arg(value_name = "N")]
    version: u32,
}

pub fn run(cx: &Context, args: SetDefaultArgs) -> Result<(), Error> {
    let opened = cx.writer()?;
    let change = ops::playbooks::set_default(&opened.services(), &args.name, args.version)?;
    view::default_change(cx, &change)
}
