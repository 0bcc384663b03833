//! Questions before something is destroyed.

use super::{Tone, Ui, text};
use crate::error::{Error, Kind};

impl Ui {
    /// Asks for the resource's name to be typed, unless `--yes` was given.
    /// `consequence` is a whole sentence that says what is about to happen.
    ///
    /// # Errors
    /// [`Kind::NotConfirmed`] when another name is typed, or when nobody can
    /// be asked.
    pub fn confirm(&self, name: &str, consequence: &str) -> Result<(), Error> {
        if self.options.yes {
            return Ok(());
        }
        if !self.streams.can_ask() {
            return Err(Error::new(
                Kind::NotConfirmed,
                format!("not confirmed: {}", lower_first(consequence)),
            )
            .hint("there is no terminal to ask on: add `--yes` to go ahead"));
        }
        self.type_name(name, consequence)
    }

    /// The same about what nobody could have seen before the command: `--yes`
    /// is no answer to it. False when there is nobody to ask, or `--yes` says
    /// to ask nothing.
    ///
    /// # Errors
    /// [`Kind::NotConfirmed`] when another name is typed.
    pub fn confirm_seen(&self, name: &str, consequence: &str) -> Result<bool, Error> {
        if self.options.yes || !self.streams.can_ask() {
            return Ok(false);
        }
        self.type_name(name, consequence).map(|()| true)
    }

    fn type_name(&self, name: &str, consequence: &str) -> Result<(), Error> {
        let shown = text::line(name);
        self.streams.err(&format!(
            "{} {}\nType {} to go on: ",
            self.err.paint(Tone::Warn, "!"),
            text::lines(consequence),
            self.err.paint(Tone::Strong, &shown),
        ));
        let answer = self
            .streams
            .read_line()
            .map_err(|e| Error::new(Kind::NotConfirmed, format!("cannot read the answer: {e}")))?;
        if !answer.ends_with('\n') {
            // The input ended in the middle of the line (Ctrl-D).
            self.streams.err("\n");
        }
        if answer.trim() == name {
            Ok(())
        } else {
            Err(Error::new(
                Kind::NotConfirmed,
                format!("not confirmed: nothing was changed ({shown} was not typed)"),
            ))
        }
    }
}

fn lower_first(s: &str) -> String {
    let s = s.trim_end_matches('.');
    let mut chars = s.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => String::new(),
    }
}
