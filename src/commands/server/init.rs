use clap::Args;

use super::add::StorageArgs;
use super::{confirm, view};
use crate::commands::arguments::WaitArgs;
use crate::commands::outcome;
use crate::context::Context;
use crate::domain::name::Hostname;
use crate::error::Error;
use crate::ops;
use crate::ops::servers::StorageAmend;

/// Make a registered server ready, or repair a ready one
///
/// Runs SERVER_INIT; a second run changes nothing that is as it should be.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  kloigos server init lab1
  kloigos server init lab1 --disk /dev/sdb")]
pub struct InitArgs {
    /// Name of the server
    host: Hostname,

    #[command(flatten)]
    storage: StorageArgs,

    /// Take over a host that carries another store's owner stamp
    #[arg(long)]
    adopt: bool,

    #[command(flatten)]
    wait: WaitArgs,
}

pub fn run(cx: &Context, args: InitArgs) -> Result<(), Error> {
    let amend = StorageAmend {
        vg: args.storage.vg,
        disks: args.storage.disks,
        disk_size_gb: args.storage.disk_size_gb,
        adopt: args.adopt,
    };
    let opened = cx.writer()?;
    let services = opened.services();
    let options = args.wait.lifecycle(cx);
    let done = ops::servers::init(
        &services,
        &args.host,
        amend,
        &options,
        &mut *cx.ui.progress(),
    )?;
    let done = confirm::go_on(cx, &services, &args.host, done, &args.wait)?;
    outcome::done(cx, view::one, &done)
}
