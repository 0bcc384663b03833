//! Narration: notes, warnings, errors with their hints. All on stderr.

use super::{Tone, Ui, text};
use crate::domain::run::RunEnding;
use crate::error::{Error, Kind, exit};

impl Ui {
    /// Narration: what was done. Silent with `--quiet`.
    pub fn note(&self, text: &str) {
        if !self.options.quiet {
            self.streams.err(&format!("{}\n", text::lines(text)));
        }
    }

    /// Something starts that may take a while.
    pub(super) fn step(&self, text: &str) {
        if !self.options.quiet {
            let mark = self.err.paint(Tone::Busy, self.err.mark(Tone::Busy));
            self.streams.err(&format!("{mark} {}\n", text::lines(text)));
        }
    }

    pub fn warning(&self, text: &str) {
        let word = self.err.paint(Tone::Warn, "warning:");
        self.streams.err(&format!("{word} {}\n", text::lines(text)));
    }

    /// The error and what can be done about it. The end of a run has told its
    /// own story already.
    pub fn error(&self, error: &Error) {
        match error.kind {
            Kind::Run(RunEnding::WouldChange) => return,
            Kind::Run(_) | Kind::Followed { .. } if !self.options.quiet => return,
            _ => {}
        }
        let word = self.err.paint(Tone::Bad, "error:");
        let mut out = format!("{word} {}\n", text::lines(&error.message));
        let word = self.err.paint(Tone::Busy, "hint:");
        for hint in &error.hints {
            out.push_str(&format!("{word} {}\n", text::lines(hint)));
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
        self.streams.err(&text);
        exit::USAGE
    }
}
