//! Arguments that several commands share.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::context::Context;
use crate::domain::duration;
use crate::domain::name::Tag;
use crate::domain::run::Wait;
use crate::error::Error;
use crate::ops::LifecycleOptions;

#[derive(Debug, Args)]
pub struct WaitArgs {
    /// How long to wait for hosts that another run holds: 90s, 10m, 2h [default: setting
    /// runs.host_wait_seconds]
    #[arg(long, value_name = "DUR", value_parser = duration::parse)]
    wait: Option<std::time::Duration>,

    /// Give up at once when a host is not free
    #[arg(long, conflicts_with = "wait")]
    no_wait: bool,
}

impl WaitArgs {
    pub fn wait(&self) -> Wait {
        match (self.no_wait, self.wait) {
            (true, _) => Wait::No,
            (false, Some(time)) => Wait::For(time),
            (false, None) => Wait::Setting,
        }
    }

    pub fn lifecycle(&self, cx: &Context) -> LifecycleOptions {
        LifecycleOptions {
            wait: self.wait(),
            verbosity: cx.ui.verbosity(),
        }
    }
}

/// One of a closed list of words, in either case.
pub fn one_of<S>(all: &'static [S]) -> impl TypedValueParser<Value = S>
where
    S: Copy + Display + Send + Sync + 'static,
{
    PossibleValuesParser::new(all.iter().map(|s| s.to_string().to_lowercase())).try_map(
        move |typed| {
            all.iter()
                .copied()
                .find(|s| s.to_string().eq_ignore_ascii_case(&typed))
                .ok_or("not in the list")
        },
    )
}

/// `KIND ID`, as events and runs name what they are about.
pub fn subject(typed: &str) -> Result<String, String> {
    match typed.split_once(' ') {
        Some((kind, id)) if !kind.is_empty() && !id.trim().is_empty() => Ok(typed.to_owned()),
        _ => Err("write what it is and its name: 'server lab1', 'allocation web'".to_owned()),
    }
}

/// Tags by key.
pub fn tags(list: Vec<Tag>) -> Result<BTreeMap<String, String>, Error> {
    let mut map = BTreeMap::new();
    for tag in list {
        if map.contains_key(&tag.key) {
            return Err(Error::usage(format!(
                "the tag `{}` is given twice",
                tag.key
            )));
        }
        map.insert(tag.key, tag.value);
    }
    Ok(map)
}

/// No argument that is a text comes near this; a device would never end.
const TEXT_LIMIT: u64 = 1024 * 1024;

/// The text of a file, or of standard input for `-`.
pub fn text_of(cx: &Context, path: &Path, what: &str) -> Result<String, Error> {
    let bytes = if path == Path::new("-") {
        cx.ui.read_input(TEXT_LIMIT)?
    } else {
        crate::fs::read_at_most(path, TEXT_LIMIT)
            .map_err(|e| Error::usage(format!("no {what}: {e}")))?
    };
    String::from_utf8(bytes).map_err(|_| Error::usage(format!("{} is not text", path.display())))
}
