//! One line of one side: its sign, and three layers of style (syntax, change, changed words).

use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::{Line, Span as Piece};

use crate::diff::Span;
use crate::tui::highlight::Colour;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::Canvas;

use super::state::Shown;
use super::view::find_in;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    Same,
    Removed,
    Added,
}

pub struct Cell {
    /// 0: left, 1: right.
    pub side: usize,
    pub span: Option<Span>,
    pub sign: Sign,
    /// Bytes of the line that changed.
    pub emphasis: Option<Vec<Range<u32>>>,
    pub width: usize,
}

/// Spans of exactly `width` columns.
pub fn cell(canvas: &Canvas<'_>, shown: &Shown, cell: &Cell) -> Vec<Piece<'static>> {
    let Some(span) = cell.span else {
        // nothing stands here on this side
        let gap = canvas.app.ui.glyphs.gap;
        let fill = cell.width.saturating_sub(2);
        return vec![canvas.span(Role::LineNo, format!("{gap} {}", " ".repeat(fill)))];
    };
    let (base, emph, mark) = match cell.sign {
        Sign::Same => (canvas.style(Role::Text), Style::default(), "  "),
        Sign::Removed => (canvas.style(Role::Del), canvas.style(Role::DelEmph), "- "),
        Sign::Added => (canvas.style(Role::Add), canvas.style(Role::AddEmph), "+ "),
    };
    let raw = span.text(&shown.file.sides[cell.side]);
    let raw = raw.strip_suffix(b"\r").unwrap_or(raw);
    let raw = seen(raw, canvas.app.diff.skip + cell.width);
    let line = String::from_utf8_lossy(raw);
    // replaced bytes move what follows: such a line has no layers
    let exact = line.len() == raw.len();
    let colours = shown.colours[cell.side]
        .get((span.no as usize).saturating_sub(1))
        .filter(|_| exact)
        .map_or(&[][..], Vec::as_slice);
    let emphasis = cell.emphasis.as_deref().filter(|_| exact).unwrap_or(&[]);
    let hits = if exact {
        find_in(raw, &canvas.app.diff.search)
    } else {
        Vec::new()
    };
    let hit = canvas.style(Role::Match);
    // where the theme colours the ground, syntax keeps its own colours on it
    let layered = cell.sign == Sign::Same || base.bg.is_some();
    let style_of = |at: usize| {
        let at = at as u32;
        let mut style = base;
        if layered && let Some(role) = colour_at(colours, at) {
            style.fg = canvas.style(role).fg.or(style.fg);
            style = style.add_modifier(canvas.style(role).add_modifier);
        }
        if emphasis.iter().any(|range| range.contains(&at)) {
            style = style.patch(emph);
        }
        if hits.iter().any(|range| range.contains(&at)) {
            style = style.patch(hit);
        }
        style
    };
    let width = cell.width.saturating_sub(2);
    let skip = canvas.app.diff.skip;
    let hidden = canvas.style(Role::Hidden);
    let spans = text::spans(&line, skip + width, hidden, style_of);
    let content = text::window(spans, skip, width);
    let fill = width.saturating_sub(content.width());
    let mut out = vec![Piece::styled(mark, base)];
    out.extend(content.spans);
    out.push(Piece::styled(" ".repeat(fill), base));
    Line::from(out).spans
}

/// As many bytes as so many columns can show: a line may have megabytes.
fn seen(raw: &[u8], columns: usize) -> &[u8] {
    // a column of the longest characters, with marks on them
    let mut end = raw.len().min(columns.saturating_mul(16) + 64);
    while end < raw.len() && end > 0 && raw[end] & 0xC0 == 0x80 {
        end -= 1;
    }
    &raw[..end]
}

fn colour_at(colours: &[Colour], at: u32) -> Option<Role> {
    let index = colours.partition_point(|(_, end, _)| *end <= at);
    colours
        .get(index)
        .filter(|(from, _, _)| *from <= at)
        .map(|(_, _, role)| *role)
}
