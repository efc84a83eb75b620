//! A row of the matrix: a patch, its cells, its score on the official suite, what it comes to.

use ratatui::text::{Line, Span};

use crate::domain::acceptance::{How, Role as Patch};
use crate::report::acceptance::{GridCell, GridMark, Matrix, Row, Sign};
use crate::tui::layout::PaneKind;
use crate::tui::state::App;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::Canvas;

use super::geometry::{Geometry, label, official};

/// Draws a patch' row; `x` is where the first seen cell begins.
pub fn draw(
    canvas: &mut Canvas<'_>,
    matrix: &Matrix,
    g: &Geometry,
    (at, x): (usize, usize),
    row: &Row,
    selected: bool,
) {
    let app = canvas.app;
    let ellipsis = app.ui.glyphs.ellipsis;
    let role = if selected { Role::Strong } else { Role::Text };
    let name = text::fit(&label(app, matrix, row), g.label, ellipsis);
    let mut left = vec![Span::raw(" "), canvas.span(role, name), Span::raw(" ")];
    if g.claim > 0 {
        let claim = text::fit(row.claim.as_deref().unwrap_or(""), g.claim, ellipsis);
        left.push(canvas.span(Role::Accent, claim));
    }
    canvas.put(at, &Line::from(left));
    if selected {
        let focused = app.focus == PaneKind::Acceptance;
        let role = if focused {
            Role::Selection
        } else {
            Role::SelectionIdle
        };
        let style = canvas.style(role);
        let end = (x - 1) as u16;
        let rect = ratatui::layout::Rect {
            y: canvas.area.y.saturating_add(at as u16),
            height: 1,
            width: end.min(canvas.area.width),
            ..canvas.area
        };
        canvas.buf.set_style(rect.intersection(canvas.area), style);
    }
    let cells = row.cells.iter().enumerate().skip(app.acceptance.left);
    for (place, (index, cell)) in cells.take(g.columns).enumerate() {
        let guard = matrix.columns.get(index).is_some_and(|c| c.guard);
        let mut spans = marks(canvas, row, cell, guard);
        let under = selected && index == app.acceptance.column;
        if under {
            point(canvas, &mut spans);
        }
        canvas.put_at(at, x + place * g.column, &Line::from(spans));
    }
    let end = x + g.columns * g.column;
    let words = official(app, row);
    let below = row.verdict.official;
    let role = match (row.official, below) {
        (None, _) => Role::Dim,
        (_, true) => Role::Failed,
        (Some(p), _) if p.passed == p.of => Role::Text,
        _ => Role::Dim,
    };
    let words = format!("{words:>width$}", width = g.official);
    let mut spans = vec![canvas.span(role, words)];
    if row.official_stale {
        spans.push(canvas.span(Role::Warn, "~"));
    }
    if selected && app.acceptance.function().is_none() {
        point(canvas, &mut spans);
    }
    canvas.put_at(at, end + 1, &Line::from(spans));
    let (sign, role) = sign(app, row.verdict.sign);
    let mut last = vec![canvas.span(role, sign)];
    if g.verdict > 0 {
        last.push(Span::raw(" "));
        let role = match row.verdict.sign {
            Sign::Holds => Role::Text,
            _ => role,
        };
        let words = text::cut(&row.verdict.words, g.verdict, ellipsis);
        last.push(canvas.span(role, words));
    }
    canvas.put_at(at, end + 1 + g.official + 2, &Line::from(last));
}

/// Lays the cursor over a cell.
fn point(canvas: &Canvas<'_>, spans: &mut Vec<Span<'static>>) {
    let focused = canvas.app.focus == PaneKind::Acceptance;
    let role = if focused {
        Role::Selection
    } else {
        Role::SelectionIdle
    };
    let style = canvas.style(role);
    for span in &mut *spans {
        span.style = span.style.patch(style);
    }
    if spans.is_empty() {
        spans.push(Span::styled(" ", style));
    }
}

/// One glyph a run: how the function ends, coloured by whether the rule wants that.
fn marks(canvas: &Canvas<'_>, row: &Row, cell: &GridCell, guard: bool) -> Vec<Span<'static>> {
    let app = canvas.app;
    if cell.marks.is_empty() {
        return vec![canvas.dim(app.ui.glyphs.waiting)];
    }
    let mut spans: Vec<Span<'static>> = Vec::new();
    for mark in &cell.marks {
        let role = if cell.current {
            wanted(row, *mark, guard)
        } else {
            Role::Dim
        };
        spans.push(canvas.span(role, glyph(app, *mark)));
    }
    if cell.stale {
        spans.push(canvas.span(Role::Warn, "~"));
    }
    let runs = match (row.role, &app.acceptance.matrix) {
        (Patch::Gold, Some(matrix)) if !matrix.tried.is_empty() => matrix.runs as usize,
        _ => 1,
    };
    let open = runs.saturating_sub(cell.marks.len());
    if open > 0 {
        spans.push(canvas.dim(app.ui.glyphs.waiting.repeat(open)));
    }
    spans
}

/// Whether the acceptance rule wants a cell so.
fn wanted(row: &Row, mark: GridMark, guard: bool) -> Role {
    let passed = mark == GridMark::Passed;
    match row.role {
        Patch::Gold | Patch::Alternative if passed => Role::Passed,
        Patch::Base if guard && passed => Role::Passed,
        Patch::Gold | Patch::Alternative => Role::Failed,
        Patch::Base if passed != guard => Role::Failed,
        Patch::Hollow if passed && !guard => Role::Failed,
        Patch::Base | Patch::Hollow => Role::Text,
        // other claims' probes need not reject it
        Patch::Adversarial | Patch::Mutant if passed && row.verdict.sign == Sign::Breaks => {
            Role::Failed
        }
        Patch::Adversarial | Patch::Mutant if passed => Role::Dim,
        Patch::Adversarial | Patch::Mutant if mark.asserts() => Role::Passed,
        Patch::Adversarial | Patch::Mutant => Role::Error,
    }
}

pub fn glyph(app: &App, mark: GridMark) -> &'static str {
    let pick = |fancy: &'static str, plain: &'static str| {
        if app.ui.glyphs.unicode { fancy } else { plain }
    };
    match mark {
        GridMark::Passed => pick("✔", "+"),
        GridMark::Rejects(How::Assertion) => pick("✘", "F"),
        GridMark::Rejects(How::Error | How::Setup | How::Collection) => pick("!", "E"),
        GridMark::Rejects(How::Timeout) => "t",
        GridMark::Rejects(How::Skipped) => "s",
        GridMark::Rejects(How::Missing) => pick("∅", "0"),
    }
}

pub fn sign(app: &App, sign: Sign) -> (&'static str, Role) {
    let unicode = app.ui.glyphs.unicode;
    match sign {
        Sign::Holds => (if unicode { "✔" } else { "+" }, Role::Passed),
        Sign::Warns => (if unicode { "⚠" } else { "?" }, Role::Warn),
        Sign::Breaks => (if unicode { "✘" } else { "F" }, Role::Failed),
        Sign::Open => (app.ui.glyphs.waiting, Role::Dim),
    }
}
