use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use serde_json::json;

use crate::context::Context;
use crate::domain::name::AllocationId;
use crate::error::{Error, Kind};
use crate::ops;
use crate::ui::{Format, View};

/// Log in as the tenant, or run one command so
///
/// Replaces itself with ssh; the exit code is that of ssh. With --format json
/// it shows the command line in place of running it.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  kloigos alloc ssh web
  kloigos alloc ssh web -i ~/.ssh/web -- systemctl --user status")]
pub struct SshArgs {
    /// Id of the allocation
    id: AllocationId,

    /// The tenant's private key [default: what ssh itself finds]
    #[arg(long, short, value_name = "FILE")]
    identity: Option<PathBuf>,

    /// Command to run there in place of a shell
    #[arg(last = true)]
    command: Vec<String>,
}

pub fn run(cx: &Context, args: SshArgs) -> Result<(), Error> {
    let opened = cx.reader()?;
    let argv = ops::allocations::ssh_command(
        &opened.services(),
        &args.id,
        args.identity.as_deref(),
        &args.command,
    )?;
    drop(opened);
    if cx.ui.format() != Format::Table {
        let words: Vec<_> = argv.iter().map(|a| a.to_string_lossy()).collect();
        return cx.ui.show(&json!({"command": words}), View::new);
    }
    let Some((program, rest)) = argv.split_first() else {
        return Err(Error::new(Kind::Local, "there is no command to run"));
    };
    // `exec` comes back only when it failed.
    let e = Command::new(program).args(rest).exec();
    Err(Error::new(
        Kind::Ansible,
        format!("cannot run {}: {e}", program.to_string_lossy()),
    )
    .hint("install the OpenSSH client (package openssh-client)"))
}
