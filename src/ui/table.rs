//! Tables: plain aligned columns when piped, fitted to the terminal otherwise.

use comfy_table::{
    Attribute, CellAlignment, Color, ColumnConstraint, ContentArrangement, LineStyle, TableStyle,
    Width,
};

use super::text;
use super::tone::{Palette, Tone};

/// Narrower than this, a column that wraps is no longer readable.
const WRAPPED_WIDTH: usize = 16;
const GAP: usize = 2;
/// How far lines below a row are indented.
const BELOW: usize = 4;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    pub fn new(value: impl std::fmt::Display) -> Self {
        Cell::toned(value, Tone::Plain)
    }

    pub fn toned(value: impl std::fmt::Display, tone: Tone) -> Self {
        Cell {
            text: text::line(&value.to_string()).into_owned(),
            tone,
        }
    }

    /// A status: its word in the colour of its meaning.
    pub fn status<S: std::fmt::Display + Copy + Into<Tone>>(status: S) -> Self {
        Cell::toned(status, status.into())
    }

    /// A value that may be missing.
    pub fn optional(value: Option<impl std::fmt::Display>) -> Self {
        value.map_or_else(|| Cell::toned("-", Tone::Muted), Cell::new)
    }

    /// A count, muted when it is zero.
    pub fn count(n: impl std::fmt::Display, tone: Tone) -> Self {
        let text = n.to_string();
        let tone = if text == "0" { Tone::Muted } else { tone };
        Cell { text, tone }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn paint(&self, palette: Palette) -> String {
        palette.paint(self.tone, &self.text)
    }
}

#[derive(Debug, Clone)]
pub struct Column {
    name: &'static str,
    right: bool,
    wraps: bool,
    /// Columns with the highest rank give way first on a narrow terminal.
    optional: u8,
    below: bool,
}

/// A column that always stays and never wraps.
pub fn column(name: &'static str) -> Column {
    Column {
        name,
        right: false,
        wraps: false,
        optional: 0,
        below: false,
    }
}

impl Column {
    pub fn right(mut self) -> Self {
        self.right = true;
        self
    }

    pub fn wraps(mut self) -> Self {
        self.wraps = true;
        self
    }

    /// Text that, where there is no room beside the others, stands on lines of
    /// its own below the row. Never left out. For tables in which nothing else
    /// wraps.
    pub fn below(mut self) -> Self {
        self.wraps = true;
        self.below = true;
        self
    }

    /// May give way on a narrow terminal; the highest rank goes first.
    pub fn optional(mut self, rank: u8) -> Self {
        self.optional = rank;
        self
    }
}

#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub fn new(columns: impl Into<Vec<Column>>) -> Self {
        Table {
            columns: columns.into(),
            rows: Vec::new(),
        }
    }

    pub fn row(&mut self, cells: impl Into<Vec<Cell>>) {
        let cells = cells.into();
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    pub fn rows(mut self, rows: impl IntoIterator<Item = Vec<Cell>>) -> Self {
        for row in rows {
            self.row(row);
        }
        self
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// With no width (a pipe) nothing is wrapped or left out, one row a line.
    /// With one, columns that do not fit give way, and where even that does
    /// not help each row becomes a block of its own.
    pub fn render(&self, width: Option<usize>, palette: Palette) -> String {
        let natural = self.natural_widths();
        let Some(width) = width else {
            return self.plain(&natural, palette);
        };
        match self.fitting(&natural, width) {
            Some(shown) if self.has_lines_below(&shown) => {
                self.with_lines_below(&shown, &natural, width, palette)
            }
            Some(shown) => self.fitted(&shown, &natural, width, palette),
            None => self.blocks(width, palette),
        }
    }

    /// Columns that [`Table::render`] leaves out at this width.
    pub fn left_out(&self, width: Option<usize>) -> Vec<&'static str> {
        let shown = width.and_then(|w| self.fitting(&self.natural_widths(), w));
        match shown {
            Some(shown) => (0..self.columns.len())
                .filter(|i| !shown.contains(i) && !self.columns[*i].below)
                .map(|i| self.columns[i].name)
                .collect(),
            None => Vec::new(),
        }
    }

    /// The columns that have room; None when not even those that must stay
    /// have it.
    fn fitting(&self, natural: &[usize], width: usize) -> Option<Vec<usize>> {
        let needed = |i: &usize| {
            let column = &self.columns[*i];
            let least = match (column.below, column.wraps) {
                (true, _) => natural[*i].min(2 * WRAPPED_WIDTH),
                (false, true) => natural[*i].min(WRAPPED_WIDTH),
                (false, false) => natural[*i],
            };
            least + GAP
        };
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        if shown.iter().map(needed).sum::<usize>() > width + GAP {
            shown.retain(|i| !self.columns[*i].below);
        }
        while shown.iter().map(needed).sum::<usize>() > width + GAP {
            let at = (0..shown.len())
                .filter(|at| self.columns[shown[*at]].optional > 0)
                .max_by_key(|at| self.columns[shown[*at]].optional)?;
            shown.remove(at);
        }
        Some(shown)
    }

    fn has_lines_below(&self, shown: &[usize]) -> bool {
        (0..self.columns.len()).any(|i| self.columns[i].below && !shown.contains(&i))
    }

    /// Rows on one line each, what has no room beside them below, indented.
    fn with_lines_below(
        &self,
        shown: &[usize],
        natural: &[usize],
        width: usize,
        palette: Palette,
    ) -> String {
        let rule = if palette.unicode { '─' } else { '-' };
        let total: usize = shown.iter().map(|i| natural[*i] + GAP).sum();
        let mut out = self.straight(&self.head(), shown, natural, palette);
        out.extend(std::iter::repeat_n(rule, total.saturating_sub(GAP)));
        out.push('\n');
        for row in &self.rows {
            out.push_str(&self.straight(row, shown, natural, palette));
            for (cell, column) in row.iter().zip(&self.columns) {
                if !column.below || cell.text.is_empty() {
                    continue;
                }
                for line in text::wrap(&cell.text, width.saturating_sub(BELOW)) {
                    let line = palette.paint(cell.tone, &line);
                    out.push_str(&format!("{:BELOW$}{line}\n", ""));
                }
            }
        }
        out
    }

    fn natural_widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(|c| text::width(c.name)).collect();
        for row in &self.rows {
            for (w, cell) in widths.iter_mut().zip(row) {
                *w = (*w).max(text::width(&cell.text));
            }
        }
        widths
    }

    fn head(&self) -> Vec<Cell> {
        self.columns
            .iter()
            .map(|c| Cell::toned(c.name.to_uppercase(), Tone::Strong))
            .collect()
    }

    fn plain(&self, widths: &[usize], palette: Palette) -> String {
        let all: Vec<usize> = (0..self.columns.len()).collect();
        std::iter::once(&self.head())
            .chain(&self.rows)
            .map(|row| self.straight(row, &all, widths, palette))
            .collect()
    }

    /// One row on one line, nothing wrapped.
    fn straight(
        &self,
        row: &[Cell],
        shown: &[usize],
        widths: &[usize],
        palette: Palette,
    ) -> String {
        let mut out = String::new();
        let mut pending = 0;
        for i in shown {
            let cell = &row[*i];
            let fill = widths[*i] - text::width(&cell.text);
            let (before, after) = match self.columns[*i].right {
                true => (fill, 0),
                false => (0, fill),
            };
            if !cell.text.is_empty() {
                out.extend(std::iter::repeat_n(' ', pending + before));
                out.push_str(&cell.paint(palette));
                pending = 0;
            } else {
                pending += before;
            }
            pending += after + GAP;
        }
        out.push('\n');
        out
    }

    fn fitted(&self, shown: &[usize], natural: &[usize], width: usize, palette: Palette) -> String {
        let rule = if palette.unicode { '─' } else { '-' };
        let mut table = comfy_table::Table::new();
        table
            .load_style(TableStyle::new().header_separator(LineStyle::none().fill(rule)))
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(u16::try_from(width).unwrap_or(u16::MAX));
        if palette.colour {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        table.set_header(shown.iter().map(|i| {
            comfy_table::Cell::new(self.columns[*i].name.to_uppercase())
                .add_attribute(Attribute::Bold)
        }));
        for row in &self.rows {
            table.add_row(shown.iter().map(|i| comfy_cell(&row[*i])));
        }
        let last = shown.len().saturating_sub(1);
        for (at, i) in shown.iter().enumerate() {
            let Some(column) = table.column_mut(at) else {
                continue;
            };
            let gap = if at == last { 0 } else { GAP };
            column.set_padding((0, u16::try_from(gap).unwrap_or(0)));
            let of = |w: usize| Width::Fixed(u16::try_from(w + gap).unwrap_or(u16::MAX));
            column.set_constraint(if self.columns[*i].wraps {
                ColumnConstraint::LowerBoundary(of(natural[*i].min(WRAPPED_WIDTH)))
            } else {
                ColumnConstraint::Absolute(of(natural[*i]))
            });
            if self.columns[*i].right {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let mut out = String::new();
        for line in table.lines() {
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }

    /// One block a row: the first column as its title, the others below.
    fn blocks(&self, width: usize, palette: Palette) -> String {
        let label = self
            .columns
            .iter()
            .skip(1)
            .map(|c| text::width(c.name))
            .max()
            .unwrap_or(0);
        let mut out = String::new();
        for row in &self.rows {
            for (at, (cell, column)) in row.iter().zip(&self.columns).enumerate() {
                if at == 0 {
                    for line in text::wrap(&cell.text, width) {
                        out.push_str(&palette.paint(Tone::Strong, &line));
                        out.push('\n');
                    }
                } else if !cell.text.is_empty() && cell.text != "-" {
                    field(&mut out, 2, column.name, label, cell, Some(width), palette);
                }
            }
        }
        out
    }
}

/// `label  value`, the value wrapped beside its label, or below it where
/// there is no room.
pub(super) fn field(
    out: &mut String,
    indent: usize,
    name: &str,
    label: usize,
    value: &Cell,
    width: Option<usize>,
    palette: Palette,
) {
    let left = indent + label + GAP;
    let lines = match width {
        Some(w) if w >= left + 12 => text::wrap(&value.text, w - left),
        Some(w) => {
            out.push_str(&format!(
                "{:indent$}{}\n",
                "",
                palette.paint(Tone::Muted, name)
            ));
            for line in text::wrap(&value.text, w.saturating_sub(indent + 2)) {
                let line = palette.paint(value.tone, &line);
                out.push_str(&format!("{:pad$}{line}\n", "", pad = indent + 2));
            }
            return;
        }
        None => vec![value.text.clone()],
    };
    for (at, line) in lines.iter().enumerate() {
        let line = palette.paint(value.tone, line);
        if at == 0 {
            let name = palette.paint(Tone::Muted, &text::pad(name, label));
            out.push_str(format!("{:indent$}{name}  {line}", "").trim_end());
        } else {
            out.push_str(&format!("{:left$}{line}", ""));
        }
        out.push('\n');
    }
}

fn comfy_cell(cell: &Cell) -> comfy_table::Cell {
    let made = comfy_table::Cell::new(&cell.text);
    match cell.tone {
        Tone::Plain => made,
        Tone::Good => made.fg(Color::DarkGreen),
        Tone::Changed => made.fg(Color::DarkYellow),
        Tone::Busy => made.fg(Color::DarkCyan),
        Tone::Warn => made.fg(Color::DarkYellow).add_attribute(Attribute::Bold),
        Tone::Bad => made.fg(Color::DarkRed).add_attribute(Attribute::Bold),
        Tone::Muted => made.add_attribute(Attribute::Dim),
        Tone::Strong => made.add_attribute(Attribute::Bold),
    }
}

#[cfg(test)]
mod tests;
