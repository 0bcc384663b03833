use clap::Args;

use crate::context::Context;
use crate::domain::name::PlaybookName;
use crate::error::Error;
use crate::ops;
use crate::ui::{Cell, Table, Tone, View, ago, column};

/// List the versions of a playbook, newest first
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos playbook versions SERVER_INIT")]
pub struct VersionsArgs {
    /// Name of the playbook
    name: PlaybookName,
}

pub fn run(cx: &Context, args: VersionsArgs) -> Result<(), Error> {
    let opened = cx.reader()?;
    let versions = ops::playbooks::versions(&opened.services(), &args.name)?;
    cx.ui.show(&versions, || {
        let rows = versions.iter().map(|v| {
            vec![
                Cell::new(v.version),
                Cell::toned(if v.is_default { "default" } else { "" }, Tone::Good),
                Cell::new(if v.packaged { "packaged" } else { "own" }),
                Cell::new(ago(v.created_at, cx.ui.now())),
                Cell::new(&v.author),
                // Twelve digits tell versions apart; `playbook show` has all.
                Cell::new(v.digest.get(..12).unwrap_or(&v.digest)),
                Cell::optional(v.message.as_ref()),
            ]
        });
        View::list(
            Table::new([
                column("version").right(),
                column("default"),
                column("origin").optional(2),
                column("made"),
                column("author").optional(1),
                column("sha256").optional(3),
                column("message").wraps(),
            ])
            .rows(rows),
            "no versions",
        )
    })
}
