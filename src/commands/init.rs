use clap::Args;

use crate::context::Context;
use crate::error::Error;
use crate::ops;
use crate::ops::init::LoadOutcome;
use crate::ui::{Cell, Table, View, column};

/// Create or upgrade the store, load the packaged playbooks, prepare Ansible
///
/// Safe to repeat: what is there already stays.
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos init")]
pub struct InitArgs {}

pub fn run(cx: &Context, _: InitArgs) -> Result<(), Error> {
    let report = {
        let mut progress = cx.ui.progress();
        ops::init::initialise(cx.paths()?, &cx.clock, &cx.env, &mut *progress)?
    };
    cx.ui.show(&report, || {
        let store = match (report.created, report.migrated_from) {
            (true, _) => "created".to_owned(),
            (false, Some(from)) => format!("upgraded from schema {from}"),
            (false, None) => "up to date".to_owned(),
        };
        let rows = report.playbooks.iter().map(|p| {
            vec![
                Cell::new(&p.name),
                Cell::new(p.version),
                Cell::new(match p.outcome {
                    LoadOutcome::Unchanged => "there already",
                    LoadOutcome::Added => "added",
                    LoadOutcome::AddedNotDefault => "added; the default stays your own version",
                }),
            ]
        });
        View::new()
            .fields([
                (
                    "store",
                    Cell::new(format!(
                        "{} (schema {}, {store})",
                        report.store_path, report.schema_version
                    )),
                ),
                (
                    "ansible",
                    Cell::new(format!(
                        "ansible-core {} ({})",
                        report.ansible_version, report.ansible_path
                    )),
                ),
            ])
            .section(
                "Packaged playbooks",
                Table::new([
                    column("name"),
                    column("version").right(),
                    column("outcome").wraps(),
                ])
                .rows(rows),
            )
    })
}
