use std::path::{Path, PathBuf};

use clap::Args;

use super::check::CheckArgs;
use crate::context::Context;
use crate::domain::name::PlaybookName;
use crate::error::Error;
use crate::ops;
use crate::ops::playbooks::{PushRequest, PushSource, Pushed};
use crate::ui::{Cell, View};

/// Store a new version of a playbook
///
/// Ansible checks its syntax first; a push that is refused leaves nothing, and
/// the same content twice makes no new version. The first version becomes the
/// default.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  kloigos playbook push PATCH ./patch.yml -m 'monthly updates'
  kloigos playbook push WEB ./web/ --entry site.yml --vault-id prod@vault.pass")]
pub struct PushArgs {
    /// Name of the playbook
    name: PlaybookName,

    /// YAML file or directory; - reads one file from standard input
    #[arg(value_name = "PATH|-")]
    path: PathBuf,

    /// The file in a directory that Ansible is given [default: playbook.yml]
    #[arg(long, value_name = "FILE")]
    entry: Option<String>,

    #[command(flatten)]
    new: NewVersionArgs,
}

/// Of every command that pushes a version.
#[derive(Debug, Args)]
pub(super) struct NewVersionArgs {
    /// What is new in it
    #[arg(long, short, value_name = "MSG")]
    pub(super) message: Option<String>,

    /// Make it the default version
    #[arg(long)]
    pub(super) default: bool,

    #[command(flatten)]
    pub(super) check: CheckArgs,

    /// Refuse what would only be a warning
    #[arg(long)]
    pub(super) strict: bool,
}

pub fn run(cx: &Context, args: PushArgs) -> Result<(), Error> {
    let source = if args.path == Path::new("-") {
        PushSource::Stdin(cx.ui.read_input(ops::content::MAX_BYTES)?)
    } else {
        PushSource::Path(args.path)
    };
    let request = PushRequest {
        name: args.name,
        source,
        entry: args.entry,
        message: args.new.message,
        make_default: args.new.default,
        check: args.new.check.options(cx)?,
        strict: args.new.strict,
    };
    let opened = cx.writer()?;
    let pushed = ops::playbooks::push(&opened.services(), request)?;
    warn(cx, &pushed);
    cx.ui.show(&pushed, || view(&pushed))?;
    say_what_runs(cx, &pushed);
    Ok(())
}

pub(super) fn warn(cx: &Context, pushed: &Pushed) {
    for warning in &pushed.warnings {
        cx.ui.warning(warning);
    }
}

/// A new version that nothing runs yet is easily taken for one that does.
pub(super) fn say_what_runs(cx: &Context, pushed: &Pushed) {
    let v = &pushed.version;
    if !v.is_default {
        cx.ui.note(&format!(
            "another version is the default: `kloigos playbook set-default {0} {1}` changes that, `kloigos run {0} --version {1}` tries it",
            v.name, v.version
        ));
    }
}

pub(super) fn view(pushed: &Pushed) -> View {
    let v = &pushed.version;
    View::new().fields([
        ("playbook", Cell::new(format!("{}@{}", v.name, v.version))),
        (
            "version",
            Cell::new(if pushed.new {
                "new"
            } else {
                "there already, with the same content"
            }),
        ),
        (
            "default",
            Cell::new(if v.is_default { "yes" } else { "no" }),
        ),
        ("sha256", Cell::new(&v.digest)),
    ])
}
