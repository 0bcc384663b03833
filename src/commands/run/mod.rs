//! `kloigos run`.

mod explain;

use std::path::PathBuf;

use clap::Args;

use crate::commands::arguments::WaitArgs;
use crate::commands::outcome;
use crate::commands::secrets::SecretArgs;
use crate::context::Context;
use crate::domain::name::PlaybookName;
use crate::domain::variables::ExtraVar;
use crate::error::Error;
use crate::ops;
use crate::ops::runs::RunAsk;

/// Run a playbook of the store
///
/// Holds every host that it touches until it has ended. With --format json it
/// writes one event a line, the outcome last.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  kloigos run PATCH --host lab1
  kloigos run PATCH -i inventory.yml --limit web -e reboot:=true --check --diff
  kloigos run PATCH --host lab1 -s db_password --secret-file secrets.env -K")]
pub struct RunArgs {
    /// Name of the playbook
    #[arg(value_name = "PLAYBOOK")]
    playbook: PlaybookName,

    /// Another version than the default one
    #[arg(long, value_name = "N")]
    version: Option<u32>,

    /// Registered server or other host to run on
    #[arg(long = "host", value_name = "H", num_args = 1.., conflicts_with = "inventory",
        value_parser = host)]
    hosts: Vec<String>,

    /// Inventory file or directory
    #[arg(long, short)]
    inventory: Option<PathBuf>,

    /// Only the hosts that match this pattern
    #[arg(long, short, value_name = "P", value_parser = not_empty)]
    limit: Option<String>,

    /// Only tasks with one of these tags
    #[arg(long, short, value_name = "T", value_parser = not_empty)]
    tags: Option<String>,

    /// No tasks with one of these tags
    #[arg(long, value_name = "T", value_parser = not_empty)]
    skip_tags: Option<String>,

    /// Begin at the task of this name
    #[arg(long, value_name = "NAME", value_parser = not_empty)]
    start_at_task: Option<String>,

    /// Variable: key=value is a string, key:=JSON is typed, @file is read by Ansible. Kept with
    /// the run and shown: what is secret goes with -s
    #[arg(short = 'e', long = "extra-vars", value_name = "VAR")]
    variables: Vec<ExtraVar>,

    /// Change nothing, say what would change
    #[arg(long, short = 'C')]
    check: bool,

    /// Show what changes in files, or would change
    #[arg(long, short = 'D')]
    diff: bool,

    /// Exit with 20 when the check found something to change
    #[arg(long, requires = "check")]
    detailed_exitcode: bool,

    #[command(flatten)]
    secrets: SecretArgs,

    #[command(flatten)]
    wait: WaitArgs,

    /// Tell what the run would do, and what would refuse it; touch no host
    #[arg(long, conflicts_with = "list_hosts")]
    explain: bool,

    /// Only list the hosts that the run would claim
    #[arg(long)]
    list_hosts: bool,
}

/// An unset variable of a script must not mean "all".
fn not_empty(typed: &str) -> Result<String, String> {
    match typed.trim().is_empty() {
        true => Err("it is empty; leave the option out to mean everything".to_owned()),
        false => Ok(typed.to_owned()),
    }
}

/// A name or address as ssh takes it, with a port or without.
fn host(typed: &str) -> Result<String, String> {
    let ok = |c: char| c.is_alphanumeric() || "._-:[]%".contains(c);
    match !typed.is_empty() && !typed.starts_with('-') && typed.chars().all(ok) {
        true => Ok(typed.to_owned()),
        false => Err("a name or an address is expected, with :PORT after it or without".to_owned()),
    }
}

pub fn run(cx: &Context, args: RunArgs) -> Result<(), Error> {
    let become_password_file = args.secrets.become_password_file.clone();
    let vault_ids = args.secrets.vault_ids();
    let secrets = args.secrets.ask(cx, &vault_ids)?;
    let ask = RunAsk {
        playbook: args.playbook,
        version: args.version,
        hosts: args.hosts,
        inventory: args.inventory,
        limit: args.limit,
        tags: args.tags,
        skip_tags: args.skip_tags,
        start_at_task: args.start_at_task,
        variables: args.variables,
        check: args.check,
        diff: args.diff,
        detailed_exitcode: args.detailed_exitcode,
        become_password_file,
        vault_ids,
        secrets,
        wait: args.wait.wait(),
        verbosity: cx.ui.verbosity(),
    };
    if args.explain || args.list_hosts {
        let opened = cx.reader()?;
        let explanation = ops::runs::explain(&opened.services(), ask)?;
        return match args.explain {
            true => explain::show(cx, &explanation),
            false => explain::list_hosts(cx, &explanation),
        };
    }
    let opened = cx.writer()?;
    let done = {
        let mut progress = cx.ui.run_stream();
        ops::runs::run(&opened.services(), ask, &mut *progress)?
    };
    outcome::exit(cx, &done)
}
