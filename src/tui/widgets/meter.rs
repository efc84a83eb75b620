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

/// A curve of percentages, a cell each; what is not known is blank.
pub fn curve(glyphs: &Glyphs, percents: &[Option<f64>]) -> String {
    let mark = |percent: &Option<f64>| match percent {
        Some(percent) => {
            let step = (percent.clamp(0.0, 100.0) * 7.0 / 100.0) as usize;
            glyphs.spark.get(step).copied().unwrap_or(" ")
        }
        None => " ",
    };
    percents.iter().map(mark).collect()
}

/// As [`curve`], `rows` high: from the top down.
pub fn tall(glyphs: &Glyphs, percents: &[Option<f64>], rows: usize) -> Vec<String> {
    let steps = glyphs.spark.len();
    let height = |percent: &f64| {
        // the lowest step is seen too: nothing at all would be a gap
        let cells = percent.clamp(0.0, 100.0) / 100.0 * (rows * steps) as f64;
        (cells.round() as usize).max(1)
    };
    let row = |from_below: usize| {
        let mark = |percent: &Option<f64>| {
            let high = percent.as_ref().map_or(0, height);
            let here = high.saturating_sub(from_below * steps).min(steps);
            let mark = here.checked_sub(1).and_then(|at| glyphs.spark.get(at));
            mark.copied().unwrap_or(" ")
        };
        percents.iter().map(mark).collect()
    };
    (0..rows).rev().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::glyphs::UNICODE;

    #[test]
    fn a_curve_shows_a_gap_and_the_lowest_value_apart() {
        let values = [Some(0.0), None, Some(50.0), Some(100.0), Some(400.0)];
        assert_eq!(curve(&UNICODE, &values), "▁ ▄██");
        assert_eq!(tall(&UNICODE, &values, 2), ["   ██", "▁ ███"]);
        assert!(tall(&UNICODE, &values, 0).is_empty());
    }
}
