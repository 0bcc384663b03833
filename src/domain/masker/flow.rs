//! A text that comes in lines, or in pieces of lines too long for memory.

use super::keys::KeyBlocks;
use super::{MASK, Masker};

/// Bytes of a line that begins or ends a key, at most.
const LONGEST_MARKER: usize = 100;

/// One stream of output on its way through a [`Masker`].
#[derive(Debug, Default)]
pub struct Flow {
    keys: KeyBlocks,
    /// The end of a piece, in which a secret may have begun.
    held: String,
    /// So many bytes of it belong to a secret that is hidden already.
    hidden: usize,
}

impl Flow {
    /// What may be shown now: nothing, a line, or a piece of one.
    pub fn pass(&mut self, masker: &Masker, text: &str) -> String {
        let masked = self.known(masker, text);
        if masked.is_empty() || !(self.keys.open() || masked.contains("PRIVATE KEY-----")) {
            return masked;
        }
        masked
            .split_inclusive('\n')
            .map(|line| self.keys.hide(line))
            .collect()
    }

    /// What was held back when no more comes, as the last line.
    pub fn end(&mut self, masker: &Masker) -> String {
        match self.held.is_empty() {
            true => String::new(),
            false => self.pass(masker, "\n"),
        }
    }

    fn known(&mut self, masker: &Masker, text: &str) -> String {
        let whole_line = text.ends_with('\n');
        if whole_line && self.held.is_empty() {
            return masker.known(text).into_owned();
        }
        self.held.push_str(text);
        let text = std::mem::take(&mut self.held);
        let cut = if whole_line {
            text.len()
        } else {
            safe(masker, &text)
        };
        let mut out = String::with_capacity(text.len());
        let mut at = std::mem::take(&mut self.hidden);
        for (start, end) in masker.found(&text) {
            if start >= cut {
                break;
            }
            if start >= at {
                out.push_str(&text[at..start]);
                out.push_str(MASK);
            }
            at = at.max(end);
        }
        if at < cut {
            out.push_str(&text[at..cut]);
        }
        self.hidden = at.saturating_sub(cut);
        self.held = text[cut..].to_owned();
        out
    }
}

/// Up to where a piece of a line holds all of what begins in it.
fn safe(masker: &Masker, text: &str) -> usize {
    let cut = text.floor_char_boundary(text.len().saturating_sub(masker.longest));
    // A marker of a key must not be torn either.
    let near = text.floor_char_boundary(cut.saturating_sub(LONGEST_MARKER));
    text[near..cut].find('-').map_or(cut, |at| near + at)
}
