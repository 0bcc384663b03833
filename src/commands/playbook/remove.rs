use clap::Args;

use crate::context::Context;
use crate::domain::name::PlaybookName;
use crate::error::Error;
use crate::ops;
use crate::ui::{Cell, View, count};

/// Remove a playbook, or one version of it
///
/// What a run recorded stays, and so does the default version while there are
/// others; the packaged lifecycle playbooks cannot be removed. The number of a
/// removed version is not given again.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  kloigos playbook remove PATCH
  kloigos playbook remove PATCH --version 3")]
pub struct RemoveArgs {
    /// Name of the playbook
    name: PlaybookName,

    /// Only this version
    #[arg(long, value_name = "N")]
    version: Option<u32>,
}

pub fn run(cx: &Context, args: RemoveArgs) -> Result<(), Error> {
    let opened = cx.writer()?;
    let services = opened.services();
    // What forbids it is said before the question.
    let planned = ops::playbooks::may_remove(&services, &args.name, args.version)?;
    let what = if planned.playbook_removed {
        let versions = count(planned.versions.len(), "version");
        format!("playbook {} and its {versions}", args.name)
    } else {
        let versions: Vec<String> = planned.versions.iter().map(u32::to_string).collect();
        format!("version {} of playbook {}", versions.join(", "), args.name)
    };
    cx.ui
        .confirm(args.name.as_str(), &format!("This removes {what}."))?;
    let removed = ops::playbooks::remove(&services, &args.name, args.version)?;
    cx.ui.show(&removed, || {
        let versions: Vec<String> = removed.versions.iter().map(u32::to_string).collect();
        View::new().fields([
            ("playbook", Cell::new(&removed.name)),
            (
                "removed",
                Cell::new(format!("version {}", versions.join(", "))),
            ),
            (
                "playbook gone",
                Cell::new(if removed.playbook_removed {
                    "yes"
                } else {
                    "no"
                }),
            ),
        ])
    })
}
