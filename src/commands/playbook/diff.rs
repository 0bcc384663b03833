use clap::Args;

use crate::context::Context;
use crate::domain::name::PlaybookName;
use crate::error::Error;
use crate::ops;
use crate::ops::playbooks::Diff;
use crate::ui::{Format, View};

/// Show what differs between two versions
///
/// Every file of both, as a unified diff; `patch` takes what is piped to it.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  kloigos playbook diff SERVER_INIT
  kloigos playbook diff SERVER_INIT 1 3")]
pub struct DiffArgs {
    /// Name of the playbook
    name: PlaybookName,

    /// The one version [default: the default version]
    #[arg(value_name = "A")]
    from: Option<u32>,

    /// The other version [default: the newest]
    #[arg(value_name = "B")]
    to: Option<u32>,
}

pub fn run(cx: &Context, args: DiffArgs) -> Result<(), Error> {
    let opened = cx.reader()?;
    let diff = ops::playbooks::diff(&opened.services(), &args.name, args.from, args.to)?;
    if cx.ui.format() != Format::Table {
        return cx.ui.show(&diff, View::new);
    }
    let text = text(&diff);
    if text.is_empty() {
        cx.ui.note(&format!(
            "no differences between versions {} and {}",
            diff.from.version, diff.to.version
        ));
    }
    let _ = cx.ui.write_diff(&text);
    Ok(())
}

fn text(diff: &Diff) -> String {
    let mut text = String::new();
    let (a, b) = (&diff.from, &diff.to);
    if a.entry != b.entry {
        text.push_str(&format!("entry: {} -> {}\n", a.entry, b.entry));
    }
    for file in &diff.files {
        if let Some(executable) = file.executable {
            let word = if executable {
                "executable"
            } else {
                "not executable"
            };
            text.push_str(&format!("mode of {}: {word}\n", file.path));
        }
        text.push_str(&file.diff);
    }
    text
}
