//! Searching what Ansible wrote.

use std::ops::ControlFlow;

use regex::{Regex, RegexBuilder};
use serde::Serialize;

use crate::domain::run::RunId;
use crate::domain::run_event::OutputStream;
use crate::error::Error;
use crate::ops::Services;
use crate::store::runs::RunFilter;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    pub run: RunId,
    pub stream: OutputStream,
    pub line: String,
}

pub fn pattern(text: &str, ignore_case: bool) -> Result<Regex, Error> {
    RegexBuilder::new(text)
        .case_insensitive(ignore_case)
        .build()
        .map_err(|e| {
            // The last line says why, those before it draw the place.
            let said = e.to_string();
            let why = said.lines().last().unwrap_or_default().trim();
            let why = why.strip_prefix("error: ").unwrap_or(why);
            Error::usage(format!(
                "`{}` is not a regular expression: {why}",
                text.escape_debug()
            ))
        })
}

/// Matching lines of the runs that `filter` lets through, newest run first,
/// until `f` breaks.
pub fn grep(
    services: &Services<'_>,
    pattern: &Regex,
    filter: &RunFilter,
    f: &mut dyn FnMut(Found) -> ControlFlow<()>,
) -> Result<(), Error> {
    let runs = services.store.read(|tx| tx.runs().ids(filter))?;
    let mut broken = false;
    for run in runs {
        services.store.read(|tx| {
            tx.runs().output_after(run, None, &mut |_, stream, text| {
                for line in text.lines().filter(|l| pattern.is_match(l)) {
                    let found = Found {
                        run,
                        stream,
                        line: line.to_owned(),
                    };
                    if f(found).is_break() {
                        broken = true;
                        return ControlFlow::Break(());
                    }
                }
                ControlFlow::Continue(())
            })
        })?;
        if broken {
            break;
        }
    }
    Ok(())
}
