//! Takes known secrets and private keys out of everything that a run says.
//!
//! Secrets are found in all forms that [`forms`] knows. Where two of them
//! overlap, their union is hidden. A text that comes in pieces goes through a
//! [`Flow`], which keeps the end of a piece until it is clear that no secret
//! has begun there.

mod flow;
mod forms;
mod keys;

use std::borrow::Cow;
use std::collections::BTreeSet;

use aho_corasick::AhoCorasick;
use serde_json::Value;

pub use flow::Flow;

pub const MASK: &str = "********";
/// Characters. A shorter value would be found everywhere, and what it hides
/// would give it away.
pub const SHORTEST: usize = 4;
/// What the callback writes at the end of a text that it has cut.
const CUT: &str = " [cut]";

#[derive(Debug, Default)]
pub struct Masker {
    search: Option<AhoCorasick>,
    forms: Vec<String>,
    /// Bytes of the longest form.
    longest: usize,
}

fn long_enough(text: &str) -> bool {
    text.chars().count() >= SHORTEST
}

impl Masker {
    /// Too short ones are left out.
    pub fn new<'s>(secrets: impl IntoIterator<Item = &'s str>) -> Self {
        let mut all = BTreeSet::new();
        for secret in secrets {
            // Files end with a line end that is no part of what they hold.
            let whole = secret.trim_end_matches(['\n', '\r']);
            for text in [whole, whole.trim()] {
                if long_enough(text) {
                    all.extend(forms::of(text));
                }
            }
            if whole.contains('\n') {
                for line in whole.lines().map(str::trim).filter(|l| long_enough(l)) {
                    all.extend(forms::of(line));
                }
            }
        }
        let forms: Vec<String> = all.into_iter().filter(|f| long_enough(f)).collect();
        Masker {
            // It fails only for more patterns than memory holds.
            search: if forms.is_empty() {
                None
            } else {
                AhoCorasick::new(&forms).ok()
            },
            longest: forms.iter().map(String::len).max().unwrap_or(0),
            forms,
        }
    }

    /// Whether a secret of this value would be hidden.
    pub fn hides(value: &str) -> bool {
        long_enough(value.trim_end_matches(['\n', '\r']))
    }

    /// A text that came whole.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut text = self.known(text);
        if text.contains("PRIVATE KEY-----") {
            text = Cow::Owned(keys::hide_whole(&text));
        }
        if self.search.is_some() && text.contains(CUT) {
            text = Cow::Owned(self.begun(&text));
        }
        text
    }

    pub fn value(&self, value: Value) -> Value {
        match value {
            Value::String(s) => Value::String(self.text(&s).into_owned()),
            Value::Number(n) => {
                let text = n.to_string();
                match self.text(&text) {
                    Cow::Borrowed(_) => Value::Number(n),
                    Cow::Owned(masked) => Value::String(masked),
                }
            }
            Value::Array(list) => list.into_iter().map(|v| self.value(v)).collect(),
            Value::Object(map) => map
                .into_iter()
                .map(|(k, v)| (self.text(&k).into_owned(), self.value(v)))
                .collect(),
            Value::Null | Value::Bool(_) => value,
        }
    }

    fn known<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let found = self.found(text);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for (start, end) in found {
            out.push_str(&text[at..start]);
            out.push_str(MASK);
            at = end;
        }
        out.push_str(&text[at..]);
        Cow::Owned(out)
    }

    /// Where secrets stand, in order, overlapping ones as one.
    fn found(&self, text: &str) -> Vec<(usize, usize)> {
        let Some(search) = &self.search else {
            return Vec::new();
        };
        let mut spans: Vec<(usize, usize)> = Vec::new();
        for found in search.find_overlapping_iter(text) {
            // They come in the order of their ends.
            let mut start = found.start();
            while let Some(&(before, end)) = spans.last() {
                if end <= start {
                    break;
                }
                start = start.min(before);
                spans.pop();
            }
            spans.push((start, found.end()));
        }
        spans
    }

    /// Where a text was cut, the beginning of a secret may be left.
    fn begun(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut pieces = text.split(CUT).peekable();
        while let Some(piece) = pieces.next() {
            if pieces.peek().is_none() {
                out.push_str(piece);
                break;
            }
            let left = self
                .forms
                .iter()
                .filter_map(|form| {
                    form.char_indices()
                        .map(|(at, _)| &form[..at])
                        .rev()
                        .find(|begin| !begin.is_empty() && piece.ends_with(begin))
                })
                .map(str::len)
                .max()
                .unwrap_or(0);
            out.push_str(&piece[..piece.len() - left]);
            if left > 0 {
                out.push_str(MASK);
            }
            out.push_str(CUT);
        }
        out
    }
}

#[cfg(test)]
mod tests;
