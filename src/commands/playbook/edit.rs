use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use super::push::{self, NewVersionArgs};
use crate::context::Context;
use crate::domain::name::PlaybookName;
use crate::env::Env;
use crate::error::{Error, Kind};
use crate::ops;
use crate::ops::playbooks::EditRequest;
use crate::ui::{Cell, View};

/// Change a version in an editor and push it as a new one
///
/// Opens a private copy with $VISUAL or $EDITOR. A text that comes back as it
/// was makes no version; one that is refused is kept, and you are told where.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  kloigos playbook edit PATCH -m 'reboot later'
  kloigos playbook edit SERVER_INIT --file files/nftables.conf")]
pub struct EditArgs {
    /// Name of the playbook
    name: PlaybookName,

    /// Another version than the default one
    #[arg(long, value_name = "N")]
    version: Option<u32>,

    /// File of a directory [default: the one that Ansible is given]
    #[arg(long, value_name = "PATH")]
    file: Option<String>,

    #[command(flatten)]
    new: NewVersionArgs,
}

pub fn run(cx: &Context, args: EditArgs) -> Result<(), Error> {
    let request = EditRequest {
        name: args.name,
        version: args.version,
        file: args.file,
        message: args.new.message,
        make_default: args.new.default,
        check: args.new.check.options(cx)?,
        strict: args.new.strict,
    };
    let opened = cx.writer()?;
    let edited = ops::playbooks::edit(&opened.services(), request, &mut |path| open(cx, path))?;
    match &edited.pushed {
        Some(pushed) => push::warn(cx, pushed),
        None => cx
            .ui
            .note("nothing was changed, so there is no new version"),
    }
    cx.ui.show(&edited, || match &edited.pushed {
        Some(pushed) => push::view(pushed),
        None => View::new().fields([
            (
                "playbook",
                Cell::new(format!("{}@{}", edited.name, edited.edited)),
            ),
            ("version", Cell::new("unchanged")),
        ]),
    })?;
    if let Some(pushed) = &edited.pushed {
        push::say_what_runs(cx, pushed);
    }
    Ok(())
}

/// The editor's command line; it may have options, as in `code --wait`.
fn editor(env: &Env) -> Result<String, Error> {
    let named = env.get("VISUAL").or_else(|| env.get("EDITOR"));
    if let Some(named) = named {
        return Ok(named.to_string_lossy().into_owned());
    }
    ["sensible-editor", "editor", "vi", "nano"]
        .into_iter()
        .find(|name| env.find_program(name).is_some())
        .map(str::to_owned)
        .ok_or_else(|| {
            Error::usage("cannot edit: there is no editor").hint("name one: `export EDITOR=vim`")
        })
}

/// Waits for the editor. An interrupt is for it, not for us: what is typed
/// would be lost with our copy.
fn open(cx: &Context, path: &Path) -> Result<(), Error> {
    let editor = editor(&cx.env)?;
    let failed = |why: &dyn std::fmt::Display| {
        Error::new(Kind::Local, format!("the editor `{editor}` failed: {why}"))
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| failed(&e))?;
    let _inside = runtime.enter();
    let _interrupt = signal(SignalKind::interrupt()).map_err(|e| failed(&e))?;
    let _quit = signal(SignalKind::quit()).map_err(|e| failed(&e))?;
    // Standard output has the result alone.
    let screen = if cx.ui.out_is_terminal() {
        Stdio::inherit()
    } else {
        let err = std::io::stderr();
        Stdio::from(err.as_fd().try_clone_to_owned().map_err(|e| failed(&e))?)
    };
    let status = Command::new("sh")
        .arg("-c")
        .arg(format!("{editor} \"$@\""))
        .arg(&editor)
        .arg(path)
        .stdout(screen)
        .status()
        .map_err(|e| failed(&e))?;
    if status.success() {
        Ok(())
    } else {
        Err(failed(&status).hint("nothing was pushed"))
    }
}
