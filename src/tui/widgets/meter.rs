//! Bars and curves.

use ratatui::text::Span;

use crate::tui::glyphs::Glyphs;
use crate::tui::theme::Role;

use super::Canvas;

/// A bar of `cells`, filled to `part` of one.
pub fn bar(canvas: &Canvas<'_>, part: f64, cells: usize) -> Vec<Span<'static>> {
    let role = level(part);
    filled(canvas, part, cells, role)
}

/// As [`bar`], in a colour of its own.
pub fn filled(canvas: &Canvas<'_>, part: f64, cells: usize, role: Role) -> Vec<Span<'static>> {
    let glyphs = &canvas.app.ui.glyphs;
    let part = if part.is_finite() {
        part.clamp(0.0, 1.0)
    } else {
        0.0
    };
    let eighths = (part * cells as f64 * 8.0).round() as usize;
    let whole = (eighths / 8).min(cells);
    let mut full = glyphs.full.repeat(whole);
    let mut rest = cells - whole;
    if !eighths.is_multiple_of(8) && rest > 0 {
        full.push_str(glyphs.bar.get(eighths % 8).copied().unwrap_or(" "));
        rest -= 1;
    }
    vec![
        canvas.span(role, full),
        canvas.span(Role::GaugeRest, glyphs.rest.repeat(rest)),
    ]
}

/// Where a load stands: calm, busy, at its limit.
pub fn level(part: f64) -> Role {
    if part >= 0.9 {
        Role::GaugeHigh
    } else if part >= 0.6 {
        Role::GaugeMid
    } else {
        Role::GaugeLow
    }
}

/// The newest percentages of a curve, one cell each, right-aligned.
pub fn curve<'a>(
    glyphs: &Glyphs,
    values: impl DoubleEndedIterator<Item = &'a u32>,
    cells: usize,
) -> String {
    let mut marks: Vec<&str> = values
        .rev()
        .take(cells)
        .map(|percent| {
            let step = (*percent).min(100) as usize * 7 / 100;
            glyphs.spark.get(step).copied().unwrap_or(" ")
        })
        .collect();
    let fill = cells - marks.len();
    marks.reverse();
    format!("{}{}", " ".repeat(fill), marks.concat())
}
