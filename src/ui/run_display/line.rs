//! Lines of toned text that fit a width.

use crate::ui::text;
use crate::ui::tone::{Palette, Tone};

/// Pieces of text, each with what it means.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Line {
    pieces: Vec<(Tone, String)>,
    /// Somebody else's line: shown as it is, never wrapped.
    verbatim: bool,
}

impl Line {
    pub fn of(tone: Tone, text: impl Into<String>) -> Self {
        Line {
            pieces: vec![(tone, text.into())],
            verbatim: false,
        }
    }

    pub fn verbatim(tone: Tone, text: impl Into<String>) -> Self {
        Line {
            verbatim: true,
            ..Line::of(tone, text)
        }
    }

    pub fn add(mut self, tone: Tone, text: impl Into<String>) -> Self {
        self.pieces.push((tone, text.into()));
        self
    }

    pub fn join(mut self, other: Line) -> Self {
        self.pieces.extend(other.pieces);
        self
    }

    pub fn width(&self) -> usize {
        self.pieces.iter().map(|(_, t)| text::width(t)).sum()
    }

    /// At most `max` columns wide, painted.
    pub fn paint(&self, max: usize, palette: Palette) -> String {
        let mut out = String::new();
        let mut left = max;
        let mut rest = self.width();
        for (tone, piece) in &self.pieces {
            let w = text::width(piece);
            if rest <= left || w < left {
                out.push_str(&palette.paint(*tone, piece));
                left = left.saturating_sub(w);
                rest -= w;
            } else {
                // This piece must give room for the mark that it was cut.
                let cut = text::fit(&format!("{piece}…"), left).into_owned();
                out.push_str(&palette.paint(*tone, &cut));
                break;
            }
        }
        out
    }
}

impl Line {
    /// Broken to the width at spaces, with the indent that it begins with.
    pub fn wrap(&self, width: usize) -> Vec<Line> {
        if self.verbatim || self.width() <= width {
            return vec![self.clone()];
        }
        let whole = self.paint(usize::MAX, Palette::PLAIN);
        let first = self.pieces.first().map_or(Tone::Plain, |(tone, _)| *tone);
        text::wrap(&whole, width)
            .into_iter()
            .enumerate()
            .map(|(i, part)| Line::of(if i == 0 { first } else { Tone::Plain }, part))
            .collect()
    }
}

/// Pieces side by side while they fit, separated by a dot, on as many lines as
/// it takes; `last` stands at the right edge of the first line if all fits
/// there. Lines after the first are indented.
pub(super) fn flow(
    lead: Line,
    pieces: Vec<Line>,
    last: Option<Line>,
    width: usize,
    palette: Palette,
) -> Vec<Line> {
    let dot = palette.dot();
    let indent = lead.width();
    let one_line: usize = indent
        + pieces.iter().map(Line::width).sum::<usize>()
        + pieces.len().saturating_sub(1) * text::width(dot);
    if let Some(last) = &last
        && one_line + 2 + last.width() <= width
    {
        let mut line = lead;
        for (i, piece) in pieces.into_iter().enumerate() {
            if i > 0 {
                line = line.add(Tone::Muted, dot);
            }
            line = line.join(piece);
        }
        let gap = " ".repeat(width - one_line - last.width());
        return vec![line.add(Tone::Plain, gap).join(last.clone())];
    }
    let mut lines = Vec::new();
    let mut line = lead;
    let mut begun = false;
    for piece in pieces.into_iter().chain(last) {
        if begun && line.width() + text::width(dot) + piece.width() > width {
            lines.push(std::mem::replace(
                &mut line,
                Line::of(Tone::Plain, " ".repeat(indent)),
            ));
            begun = false;
        }
        if begun {
            line = line.add(Tone::Muted, dot);
        }
        line = line.join(piece);
        begun = true;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(lines: &[Line], width: usize) -> Vec<String> {
        lines
            .iter()
            .map(|l| l.paint(width, Palette::PLAIN))
            .collect()
    }

    fn pieces() -> Vec<Line> {
        ["run 12", "PATCH@2", "server lab1"]
            .map(|t| Line::of(Tone::Plain, t))
            .to_vec()
    }

    #[test]
    fn pieces_share_a_line_while_they_fit() {
        let last = || Some(Line::of(Tone::Plain, "0:42"));
        let at = |w| {
            shown(
                &flow(
                    Line::of(Tone::Plain, "> "),
                    pieces(),
                    last(),
                    w,
                    Palette::PLAIN,
                ),
                w,
            )
        };
        assert_eq!(at(42), ["> run 12 · PATCH@2 · server lab1      0:42"]);
        assert_eq!(at(30), ["> run 12 · PATCH@2", "  server lab1 · 0:42"]);
        assert_eq!(
            at(12),
            ["> run 12", "  PATCH@2", "  server la…", "  0:42"].map(String::from)
        );
    }

    #[test]
    fn a_line_is_never_wider_than_asked() {
        let line = Line::of(Tone::Good, "漢字")
            .add(Tone::Plain, "abc")
            .add(Tone::Bad, "defg");
        for max in 0..14 {
            assert!(
                text::width(&line.paint(max, Palette::PLAIN)) <= max,
                "{max}"
            );
        }
        assert_eq!(line.paint(11, Palette::PLAIN), "漢字abcdefg");
        assert_eq!(line.paint(10, Palette::PLAIN), "漢字abcde…");
    }
}
