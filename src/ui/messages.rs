//! Narration: notes, warnings, errors with their hints. All on stderr.

use super::{Tone, Ui, text};
use crate::domain::run::RunEnding;
use crate::error::{Error, Kind, exit};

impl Ui {
    /// Narration: what was done. Silent with `--quiet`.
    pub fn note(&self, text: &str) {
        if !self.options.quiet {
            self.streams.err(&self.narration("", text));
        }
    }

    /// Broken between words where a terminal would break inside them.
    fn narration(&self, lead: &str, said: &str) -> String {
        let said = text::lines(said);
        let lead_width = text::width(lead);
        let Some(width) = self.err_width().filter(|w| *w > lead_width + 20) else {
            return format!("{lead}{said}\n");
        };
        text::wrap_after(&said, lead_width, width)
            .iter()
            .enumerate()
            .map(|(i, part)| format!("{}{part}\n", if i == 0 { lead } else { "" }))
            .collect()
    }

    /// Finished lines as a terminal shows them; commands to be copied stay
    /// whole.
    pub(super) fn broken_between_words(&self, said: &str) -> String {
        let Some(width) = self.err_width() else {
            return said.to_owned();
        };
        let mut out = String::new();
        for line in said.lines() {
            if line.contains("next: ") || text::width(line) <= width {
                out.push_str(line);
                out.push('\n');
                continue;
            }
            for part in text::wrap(line, width) {
                out.push_str(&part);
                out.push('\n');
            }
        }
        out
    }

    /// Something starts that may take a while.
    pub(super) fn step(&self, text: &str) {
        if !self.options.quiet {
            let mark = self.err.paint(Tone::Busy, self.err.mark(Tone::Busy));
            self.streams.err(&self.narration(&format!("{mark} "), text));
        }
    }

    pub fn warning(&self, text: &str) {
        let word = self.err.paint(Tone::Warn, "warning:");
        self.streams.err(&self.narration(&format!("{word} "), text));
    }

    /// The error and what can be done about it. The end of a run has told its
    /// own story already.
    pub fn error(&self, error: &Error) {
        match error.kind {
            Kind::Run(RunEnding::WouldChange) => return,
            Kind::Run(_) | Kind::Told { .. } if !self.options.quiet => return,
            _ => {}
        }
        let word = self.err.paint(Tone::Bad, "error:");
        let mut out = self.narration(&format!("{word} "), &error.message);
        let word = self.err.paint(Tone::Busy, "hint:");
        for hint in &error.hints {
            out.push_str(&self.narration(&format!("{word} "), hint));
        }
        self.streams.err(&out);
    }

    /// A command line that was not understood, or help that was asked for.
    /// Gives the exit code.
    pub fn parse_refusal(&self, refusal: &clap::Error) -> u8 {
        let rendered = refusal.render();
        if !refusal.use_stderr() {
            let text = match self.out.colour {
                true => rendered.ansi().to_string(),
                false => rendered.to_string(),
            };
            let _ = self.write(&text);
            return exit::DONE;
        }
        if refusal.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            let text = match self.err.colour {
                true => rendered.ansi().to_string(),
                false => rendered.to_string(),
            };
            self.streams.err(&text);
            return exit::USAGE;
        }
        // The text repeats what was typed, control characters included.
        let plain = rendered.to_string();
        let text = text::lines(&plain);
        let text = match text.strip_prefix("error:") {
            Some(rest) => format!("{}{rest}", self.err.paint(Tone::Bad, "error:")),
            None => text.into_owned(),
        };
        self.streams.err(&self.broken_between_words(&text));
        exit::USAGE
    }
}
