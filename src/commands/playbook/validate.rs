use std::path::{Path, PathBuf};

use clap::Args;

use super::check::CheckArgs;
use crate::context::Context;
use crate::domain::name::PlaybookName;
use crate::error::Error;
use crate::ops;
use crate::ops::playbooks::{ValidateRequest, ValidateWhat};
use crate::ui::{Cell, Tone, View};

/// Check a stored version, or files before they are pushed
///
/// Ansible checks the syntax; nothing is stored and no host is touched.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  kloigos playbook validate SERVER_INIT
  kloigos playbook validate --path ./patch.yml")]
pub struct ValidateArgs {
    /// Name of a stored playbook
    #[arg(required_unless_present = "path", conflicts_with = "path")]
    name: Option<PlaybookName>,

    /// Another version than the default one
    #[arg(long, value_name = "N", requires = "name")]
    version: Option<u32>,

    /// YAML file or directory; - reads one file from standard input
    #[arg(long, value_name = "PATH|-")]
    path: Option<PathBuf>,

    /// The file in a directory that Ansible is given [default: playbook.yml]
    #[arg(long, value_name = "FILE", requires = "path")]
    entry: Option<String>,

    #[command(flatten)]
    check: CheckArgs,
}

pub fn run(cx: &Context, args: ValidateArgs) -> Result<(), Error> {
    let what = match (args.name, args.path) {
        (Some(name), _) => ValidateWhat::Stored {
            name,
            version: args.version,
        },
        (None, Some(path)) if path == Path::new("-") => {
            ValidateWhat::Stdin(cx.ui.read_input(ops::content::MAX_BYTES)?)
        }
        (None, Some(path)) => ValidateWhat::Path(path),
        (None, None) => return Err(Error::usage("name a playbook, or files with --path")),
    };
    let request = ValidateRequest {
        what,
        entry: args.entry,
        check: args.check.options(cx)?,
    };
    let opened = cx.reader()?;
    let validation = ops::playbooks::validate(&opened.services(), request)?;
    for warning in &validation.warnings {
        cx.ui.warning(warning);
    }
    cx.ui.show(&validation, || {
        let list = |items: &[String]| Cell::optional((!items.is_empty()).then(|| items.join(", ")));
        View::new().fields([
            // What Ansible refuses is an error before this.
            ("result", Cell::toned("valid", Tone::Good)),
            ("checked", list(&validation.checks_run)),
            ("not checked", list(&validation.not_run)),
        ])
    })
}
