//! What the user sees. One [`Ui`] owns standard output, standard error,
//! colour, width, format, prompts and quiet: data goes to stdout, narration to
//! stderr, and nothing that came from outside brings control characters along.

mod exact;
mod messages;
mod prompt;
pub mod run_display;
mod secret_prompt;
mod streams;
mod table;
mod text;
mod time;
mod tone;
mod view;

use std::ops::ControlFlow;

use serde::Serialize;

use crate::clock::Clock;
use crate::domain::since::Since;
use crate::domain::time::Timestamp;
use crate::env::Env;
use crate::error::{Error, Kind};

pub use table::{Cell, Column, Table, column};
pub use text::{ago, bytes, count, duration};
pub use tone::{Palette, Tone};
pub use view::View;

use streams::Streams;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    #[default]
    Table,
    Json,
    Yaml,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum ColorChoice {
    #[default]
    Auto,
    Always,
    Never,
}

/// What the global options say.
#[derive(Debug, Clone, Copy, Default)]
pub struct UiOptions {
    pub format: Format,
    pub color: ColorChoice,
    pub quiet: bool,
    pub verbosity: u8,
    pub no_progress: bool,
    /// Destructive commands go ahead without a question.
    pub yes: bool,
}

pub struct Ui {
    options: UiOptions,
    streams: Streams,
    out: Palette,
    err: Palette,
    zone: jiff::tz::TimeZone,
    clock: Clock,
    /// `COLUMNS`: the user's word, before the terminal's.
    columns: Option<usize>,
    dumb: bool,
}

impl Ui {
    pub fn new(options: UiOptions, env: &Env, clock: Clock) -> Self {
        let streams = Streams::standard();
        let dumb = env.get("TERM").is_some_and(|t| t == "dumb");
        let unicode = speaks_unicode(env);
        let colour = |terminal: bool| match options.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => terminal && !dumb && env.get("NO_COLOR").is_none(),
        };
        Ui {
            out: Palette {
                colour: colour(streams.out_is_terminal()),
                unicode,
            },
            err: Palette {
                colour: colour(streams.err_is_terminal()),
                unicode,
            },
            columns: env
                .get("COLUMNS")
                .and_then(|c| c.to_str()?.parse().ok())
                .filter(|c| *c > 0),
            zone: time::zone(env),
            options,
            streams,
            clock,
            dumb,
        }
    }

    pub fn format(&self) -> Format {
        self.options.format
    }

    pub fn out_is_terminal(&self) -> bool {
        self.streams.out_is_terminal()
    }

    pub fn verbosity(&self) -> u8 {
        self.options.verbosity
    }

    /// The moment at which the command began, for ages.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The moment that a user means.
    pub fn moment(&self, since: Since) -> Timestamp {
        since.resolve(self.now(), &self.zone)
    }

    /// A point in time, in the user's zone.
    pub fn at(&self, t: Timestamp) -> String {
        time::local(t, &self.zone)
    }

    /// The same with its age.
    pub fn at_with_age(&self, t: Timestamp) -> String {
        format!("{} ({})", self.at(t), ago(t, self.now()))
    }

    /// Width for what goes to stdout; None when nothing shall be wrapped.
    fn out_width(&self) -> Option<usize> {
        if self.streams.out_is_terminal() {
            Some(self.columns.unwrap_or_else(|| self.streams.out_size().0))
        } else {
            self.columns
        }
    }

    /// Width for narration; None when nothing shall be wrapped.
    fn err_width(&self) -> Option<usize> {
        self.streams
            .err_is_terminal()
            .then(|| self.columns.unwrap_or_else(|| self.streams.err_size().0))
    }

    /// The one result of a command: a JSON or YAML document, or its layout.
    pub fn show<T: Serialize>(
        &self,
        value: &T,
        layout: impl FnOnce() -> View,
    ) -> Result<(), Error> {
        match self.options.format {
            Format::Json | Format::Yaml => self.document(value),
            Format::Table => {
                let view = layout();
                let width = self.out_width();
                let _ = self.write(&view.render(width, self.out));
                if let Some(note) = view.empty_note() {
                    self.note(note);
                }
                let left_out = view.left_out(width);
                if !left_out.is_empty() {
                    self.note(&format!(
                        "no room for {}; a wider terminal or `--format json` shows it all",
                        left_out.join(", ")
                    ));
                }
                Ok(())
            }
        }
    }

    fn document<T: Serialize>(&self, value: &T) -> Result<(), Error> {
        let cannot = |e: &dyn std::fmt::Display| {
            Error::new(Kind::Local, format!("cannot write the result: {e}"))
        };
        let text = match self.options.format {
            Format::Yaml => crate::yaml::to_string(value).map_err(|e| cannot(&e))?,
            Format::Json | Format::Table => {
                let text = serde_json::to_string_pretty(value).map_err(|e| cannot(&e))?;
                json_for_terminals(&text) + "\n"
            }
        };
        let _ = self.write(&text);
        Ok(())
    }

    /// One object of a stream, on a line of its own. Breaks when nobody reads
    /// any more.
    pub fn stream_object<T: Serialize>(&self, value: &T) -> ControlFlow<()> {
        let text = match self.options.format {
            Format::Yaml => crate::yaml::to_string(value).unwrap_or_default(),
            Format::Json | Format::Table => {
                json_for_terminals(&serde_json::to_string(value).unwrap_or_default()) + "\n"
            }
        };
        self.write(&text)
    }

    /// Text that is the data itself. Breaks when nobody reads any more.
    pub fn write_text(&self, text: &str) -> ControlFlow<()> {
        self.write(&text::lines(text))
    }

    fn write(&self, text: &str) -> ControlFlow<()> {
        self.streams.out(text)
    }

    /// Reads all of standard input, for arguments that are `-`; more than
    /// `limit` bytes are an error.
    pub fn read_input(&self, limit: u64) -> Result<Vec<u8>, Error> {
        self.streams.read_input(limit)
    }

    /// What could not be written to stdout, a closed pipe excepted; once.
    pub fn write_failure(&self) -> Option<Error> {
        self.streams.take_failure()
    }
}

/// Whether the locale says that the terminal shows more than ASCII. With no
/// locale at all (a bare container) most do; the Linux console does not.
fn speaks_unicode(env: &Env) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|key| env.get(key));
    match locale {
        Some(locale) => {
            let locale = locale.to_string_lossy().to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        }
        None => env.get("TERM").is_none_or(|t| t != "linux"),
    }
}

/// JSON escapes C0 controls itself; DEL and the C1 controls can only stand
/// inside strings, so escaping them keeps the document what it is.
fn json_for_terminals(json: &str) -> String {
    if !json.chars().any(|c| matches!(c, '\u{7f}'..='\u{9f}')) {
        return json.to_owned();
    }
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\u{7f}'..='\u{9f}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_carries_no_control_character_to_a_terminal() {
        let value = serde_json::json!({"m": "a\u{1b}[2J\u{9b}31m\u{7f}é"});
        let shown = json_for_terminals(&serde_json::to_string(&value).unwrap());
        assert!(!shown.chars().any(char::is_control), "{shown:?}");
        let back: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(back, value);
    }

    #[test]
    fn only_a_locale_that_says_otherwise_gets_ascii() {
        for (vars, unicode) in [
            (&[][..], true),
            (&[("TERM", "linux")], false),
            (&[("LANG", "C")], false),
            (&[("LANG", "de_DE.UTF-8")], true),
            (&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")], false),
            (&[("LANG", "C.utf8")], true),
        ] {
            assert_eq!(speaks_unicode(&Env::fixed(vars, "u")), unicode, "{vars:?}");
        }
    }
}
