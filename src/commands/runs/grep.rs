use std::ops::ControlFlow;

use clap::Args;

use crate::context::Context;
use crate::domain::name::PlaybookName;
use crate::domain::since::Since;
use crate::error::Error;
use crate::ops;
use crate::ops::runs::RunFilter;
use crate::ui::{Format, View};

/// Search what Ansible wrote during runs, newest run first
///
/// Exits with 3 when no line matches.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  kloigos runs grep 'No space left'
  kloigos runs grep -i 'fatal.*web1' --playbook PATCH -n 20")]
pub struct GrepArgs {
    /// Regular expression
    #[arg(value_name = "PATTERN")]
    pattern: String,

    /// Lower and upper case are the same
    #[arg(long, short)]
    ignore_case: bool,

    /// In runs that touched this host
    #[arg(long)]
    host: Option<String>,

    /// In runs of one playbook
    #[arg(long, value_name = "NAME")]
    playbook: Option<PlaybookName>,

    /// In runs that were asked for since then: 2h, 7d, 2026-11-30
    #[arg(long, value_name = "DUR|DATE")]
    since: Option<Since>,

    /// At most so many lines
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

pub fn run(cx: &Context, args: GrepArgs) -> Result<(), Error> {
    let pattern = ops::runs::pattern(&args.pattern, args.ignore_case)?;
    let filter = RunFilter {
        host: args.host,
        playbook: args.playbook,
        since: args.since.map(|s| cx.ui.moment(s)),
        ..RunFilter::default()
    };
    let opened = cx.reader()?;
    let text = cx.ui.format() == Format::Table;
    let mut all = Vec::new();
    let mut count = 0;
    ops::runs::grep(&opened.services(), &pattern, &filter, &mut |found| {
        count += 1;
        let read_on = if text {
            let line = format!("run {}: {}\n", found.run, found.line);
            cx.ui.write_text(&line)
        } else {
            all.push(found);
            ControlFlow::Continue(())
        };
        match args.limit {
            Some(limit) if count >= limit => ControlFlow::Break(()),
            _ => read_on,
        }
    })?;
    if !text {
        cx.ui.show(&all, View::new)?;
    }
    if count == 0 {
        return Err(Error::not_found(format!(
            "no line of any such run's output matches `{}`",
            args.pattern.escape_debug()
        )));
    }
    Ok(())
}
