//! What a command shows in table format: headings, fields, tables and text,
//! one below the other.

use super::table::{Cell, Table, field};
use super::text;
use super::tone::{Palette, Tone};
use crate::domain::run_event::HostCounts;

#[derive(Debug, Clone)]
enum Block {
    Heading(String),
    Fields(Vec<(&'static str, Cell)>),
    Table(Table),
    Text(String),
    Prose(String),
}

#[derive(Debug, Clone, Default)]
pub struct View {
    blocks: Vec<Block>,
    /// Said on stderr when there is nothing to list.
    empty: Option<String>,
}

impl View {
    pub fn new() -> Self {
        View::default()
    }

    /// A list, and what to say in its place when it is empty.
    pub fn list(table: Table, empty: impl Into<String>) -> Self {
        let empty = table.is_empty().then(|| empty.into());
        let view = View {
            empty,
            ..View::default()
        };
        if view.empty.is_some() {
            view
        } else {
            view.table(table)
        }
    }

    pub fn heading(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(Block::Heading(text.into()));
        self
    }

    pub fn fields(mut self, fields: impl Into<Vec<(&'static str, Cell)>>) -> Self {
        self.blocks.push(Block::Fields(fields.into()));
        self
    }

    pub fn table(mut self, table: Table) -> Self {
        self.blocks.push(Block::Table(table));
        self
    }

    /// A table under a heading, or nothing when it is empty.
    pub fn section(self, heading: &str, table: Table) -> Self {
        if table.is_empty() {
            self
        } else {
            self.heading(heading).table(table)
        }
    }

    /// Text as it is, several lines allowed.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(Block::Text(text.into()));
        self
    }

    /// Sentences, broken between words where there is a width.
    pub fn prose(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(Block::Prose(text.into()));
        self
    }

    /// A host's one word.
    pub fn verdict(counts: &HostCounts) -> Cell {
        Cell::toned(counts.verdict(), verdict_tone(counts))
    }

    pub(super) fn empty_note(&self) -> Option<&str> {
        self.empty.as_deref()
    }

    /// Names of columns that have no room at this width.
    pub(super) fn left_out(&self, width: Option<usize>) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = self
            .blocks
            .iter()
            .filter_map(|b| match b {
                Block::Table(t) => Some(t.left_out(width)),
                Block::Heading(_) | Block::Fields(_) | Block::Text(_) | Block::Prose(_) => None,
            })
            .flatten()
            .collect();
        names.dedup();
        names
    }

    pub fn render(&self, width: Option<usize>, palette: Palette) -> String {
        let mut out = String::new();
        for block in &self.blocks {
            match block {
                Block::Heading(heading) => {
                    if !out.is_empty() {
                        out.push('\n');
                    }
                    out.push_str(&palette.paint(Tone::Strong, &text::line(heading)));
                    out.push('\n');
                }
                Block::Fields(fields) => {
                    let label = fields.iter().map(|(n, _)| text::width(n)).max();
                    for (name, value) in fields {
                        field(&mut out, 0, name, label.unwrap_or(0), value, width, palette);
                    }
                }
                Block::Table(table) => out.push_str(&table.render(width, palette)),
                Block::Prose(text) => {
                    let text = text::lines(text.trim_end());
                    for line in text::wrap(&text, width.unwrap_or(usize::MAX)) {
                        out.push_str(&line);
                        out.push('\n');
                    }
                }
                Block::Text(text) => {
                    let text = text::lines(text);
                    out.push_str(&text);
                    if !text.is_empty() && !text.ends_with('\n') {
                        out.push('\n');
                    }
                }
            }
        }
        out
    }
}

pub(super) fn verdict_tone(counts: &HostCounts) -> Tone {
    match counts.verdict() {
        "failed" | "unreachable" => Tone::Bad,
        "changed" => Tone::Changed,
        "ok" => Tone::Good,
        _ => Tone::Muted,
    }
}
