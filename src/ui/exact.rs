//! Text that is the data itself: byte for byte into a file or a pipe; on a
//! terminal without what could move its cursor.

use std::ops::ControlFlow;

use super::{Tone, Ui, text};

impl Ui {
    pub fn write_exact(&self, bytes: &[u8]) -> ControlFlow<()> {
        if !self.streams.out_is_terminal() {
            return self.streams.out_bytes(bytes);
        }
        let shown = String::from_utf8_lossy(bytes);
        self.write(&text::lines(shown.trim_start_matches('\u{feff}')))
    }

    /// A unified diff.
    pub fn write_diff(&self, diff: &str) -> ControlFlow<()> {
        if !self.streams.out_is_terminal() {
            return self.streams.out_bytes(diff.as_bytes());
        }
        for line in diff.split_inclusive('\n') {
            let tone = match line.as_bytes() {
                [b'-', b'-', b'-', ..] | [b'+', b'+', b'+', ..] => Tone::Strong,
                [b'+', ..] => Tone::Good,
                [b'-', ..] => Tone::Bad,
                [b'@', ..] => Tone::Muted,
                _ => Tone::Plain,
            };
            // Line ends and marks that are not seen can be all that differs.
            let shown = line
                .trim_end_matches('\n')
                .replace('\r', "^M")
                .replace('\u{feff}', "<U+FEFF>");
            self.write(&(self.out.paint(tone, &text::lines(&shown)) + "\n"))?;
        }
        ControlFlow::Continue(())
    }
}
