use std::path::PathBuf;

use clap::Args;

use crate::context::Context;
use crate::domain::name::PlaybookName;
use crate::error::Error;
use crate::ops;
use crate::ui::{Cell, View, count};

/// Write a version to files, byte for byte
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos playbook export SERVER_INIT ./server-init")]
pub struct ExportArgs {
    /// Name of the playbook
    name: PlaybookName,

    /// Where to write it: a file, or a directory for a bundle. Nothing is replaced
    #[arg(value_name = "PATH")]
    to: PathBuf,

    /// Another version than the default one
    #[arg(long, value_name = "N")]
    version: Option<u32>,
}

pub fn run(cx: &Context, args: ExportArgs) -> Result<(), Error> {
    let opened = cx.reader()?;
    let exported = ops::playbooks::export(&opened.services(), &args.name, args.version, &args.to)?;
    cx.ui.show(&exported, || {
        View::new().fields([
            ("written", Cell::new(count(exported.files, "file"))),
            ("to", Cell::new(&exported.path)),
        ])
    })
}
