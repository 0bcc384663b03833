use clap::Args;

use crate::context::Context;
use crate::domain::name::PlaybookName;
use crate::domain::playbook::ContentKind;
use crate::error::Error;
use crate::ops;
use crate::ui::{Cell, Table, Tone, View, bytes, column};

/// Show a version of a playbook
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  kloigos playbook show SERVER_INIT
  kloigos playbook show SERVER_INIT --version 1")]
pub struct ShowArgs {
    /// Name of the playbook
    name: PlaybookName,

    /// Another version than the default one
    #[arg(long, value_name = "N")]
    version: Option<u32>,
}

pub fn run(cx: &Context, args: ShowArgs) -> Result<(), Error> {
    let opened = cx.reader()?;
    let detail = ops::playbooks::show(&opened.services(), &args.name, args.version)?;
    cx.ui.show(&detail, || {
        let v = &detail.version;
        let files = detail.files.iter().map(|f| {
            vec![
                Cell::new(&f.path),
                Cell::new(bytes(f.size_bytes)),
                Cell::new(if f.executable { "executable" } else { "" }),
            ]
        });
        let view = View::new().fields([
            (
                "playbook",
                Cell::toned(format!("{}@{}", v.name, v.version), Tone::Strong),
            ),
            (
                "default",
                Cell::new(if v.is_default { "yes" } else { "no" }),
            ),
            (
                "origin",
                Cell::new(if v.packaged { "packaged" } else { "own" }),
            ),
            ("message", Cell::optional(v.message.as_ref())),
            ("author", Cell::new(&v.author)),
            ("made", Cell::new(cx.ui.at_with_age(v.created_at))),
            ("sha256", Cell::new(&v.digest)),
            ("entry", Cell::new(&v.entry)),
        ]);
        let view = match v.kind {
            ContentKind::File => view,
            ContentKind::Bundle => view.section(
                "Files",
                Table::new([column("path"), column("size").right(), column("mode")]).rows(files),
            ),
        };
        view.heading(v.entry.clone())
            .text(detail.entry_text.clone())
    })
}
