//! The map on the screen: names and gold stay in place, submissions move under them.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::Outcome;
use crate::tui::action::Action;
use crate::tui::layout::PaneKind;
use crate::tui::panes::words;
use crate::tui::state::App;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::Canvas;

use super::draw::{cut_name, split_id};
use super::heat::{HeatRow, graded};
use super::state::Mark;

/// Columns that a name wants at least.
const NAMED: usize = 6;

/// Where the map's parts stand inside the pane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grid {
    pub label: usize,
    /// Of one submission.
    pub column: usize,
    pub columns: usize,
    /// Rows of the head: names or numbers, and verdicts below.
    pub head: usize,
    pub rows: usize,
    pub foot: usize,
}

impl Grid {
    pub fn of(app: &App, inner: Rect) -> Self {
        let heat = &app.cases.heat;
        let (width, height) = (usize::from(inner.width), usize::from(inner.height));
        let count = heat.columns.len().max(1);
        let names = heat.rows.iter().map(|row| {
            let (name, _) = split_id(row.id.as_str());
            text::width(name)
        });
        let longest = names.max().unwrap_or(0).clamp(8, 48);
        // suite and gold before the name; behind the cells how many pass
        let fixed = 7 + 8;
        let label = longest.min(width.saturating_sub(fixed + 2 * count).max(width / 4));
        let room = width.saturating_sub(fixed + label);
        let column = (room / count).clamp(1, 14);
        let digits = if column >= 3 { 1 } else { 2 };
        let head = digits + 1;
        let foot = if height >= head + 5 { 2 } else { 0 };
        Self {
            label,
            column,
            columns: (room / column).clamp(1, count),
            head,
            rows: height.saturating_sub(head + foot),
            foot,
        }
    }

    /// Where the first cell stands.
    fn x(&self) -> usize {
        7 + self.label + 1
    }
}

pub fn draw(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    let heat = &app.cases.heat;
    if heat.columns.is_empty() {
        let rows = [
            Line::from(canvas.dim("no submission of this task is graded yet")),
            Line::from(canvas.key_hint(Action::Grade, "grades what is selected in the tree")),
        ];
        return canvas.empty(&rows);
    }
    if heat.rows.is_empty() {
        let reading = heat.cases == 0;
        let words = if reading {
            "reading cases…"
        } else {
            "no case passes the filter"
        };
        let mut rows = vec![Line::from(canvas.dim(words))];
        if !reading {
            rows.push(Line::from(canvas.key_hint(Action::Back, "clears it")));
        }
        return canvas.empty(&rows);
    }
    let grid = Grid::of(app, canvas.area);
    draw_head(canvas, &grid);
    let seen = heat.rows.iter().enumerate().skip(heat.top).take(grid.rows);
    for (at, (index, row)) in seen.enumerate() {
        draw_row(canvas, &grid, grid.head + at, row, index == heat.row);
    }
    if grid.foot > 0 {
        draw_foot(canvas, &grid);
    }
}

/// Names where there is room for them, else numbers; a letter for each verdict under them.
fn draw_head(canvas: &mut Canvas<'_>, grid: &Grid) {
    let app = canvas.app;
    let heat = &app.cases.heat;
    let x = grid.x();
    let gold = Line::from(canvas.span(Role::Accent, "gold"));
    canvas.put_at(grid.head - 1, 2, &gold);
    let (less, more) = if app.ui.glyphs.unicode {
        ("‹", "›")
    } else {
        ("<", ">")
    };
    let behind = heat.columns.len().saturating_sub(heat.left + grid.columns);
    if heat.left > 0 {
        let words = format!("{less}{} ", heat.left);
        let line = Line::from(canvas.span(Role::Notice, words.clone()));
        canvas.put_at(0, x.saturating_sub(text::width(&words)), &line);
    }
    if behind > 0 {
        let line = Line::from(canvas.span(Role::Notice, format!("{behind}{more}")));
        canvas.put_at(0, x + grid.columns * grid.column + 1, &line);
    }
    let pass = Line::from(canvas.dim("pass "));
    canvas.put_right(grid.head - 1, &pass);
    let seen = heat.columns.iter().enumerate().skip(heat.left);
    for (place, (index, column)) in seen.take(grid.columns).enumerate() {
        let at = x + place * grid.column;
        let role = if index == heat.column {
            Role::Strong
        } else {
            Role::Dim
        };
        let number = index + 1;
        if grid.column >= NAMED {
            let name = column.source.label();
            let name = text::cut(&name, grid.column - 1, app.ui.glyphs.ellipsis);
            canvas.put_at(0, at, &Line::from(canvas.span(role, name)));
        } else if grid.column >= 3 {
            let line = Line::from(canvas.span(role, format!("{number:<2}")));
            canvas.put_at(0, at, &line);
        } else {
            let tens = if number >= 10 && (number % 10 == 0 || place == 0) {
                (number / 10 % 10).to_string()
            } else {
                " ".to_owned()
            };
            canvas.put_at(0, at, &Line::from(canvas.span(role, tens)));
            let ones = (number % 10).to_string();
            canvas.put_at(1, at, &Line::from(canvas.span(role, ones)));
        }
        let verdict = app.summary(&column.run).and_then(|run| run.verdict);
        let (letter, role) = verdict.map_or((app.ui.glyphs.dash, Role::Dim), |verdict| {
            (words::letter(verdict), words::verdict_role(verdict))
        });
        let line = Line::from(canvas.span(role, letter));
        canvas.put_at(grid.head - 1, at, &line);
    }
}

fn draw_row(canvas: &mut Canvas<'_>, grid: &Grid, at: usize, row: &HeatRow, selected: bool) {
    let app = canvas.app;
    let heat = &app.cases.heat;
    let (name, _) = split_id(row.id.as_str());
    let name = cut_name(name, grid.label, app.ui.glyphs.ellipsis);
    let role = if selected { Role::Strong } else { Role::Text };
    let left = vec![
        canvas.dim(format!(" {} ", words::suite(row.suite))),
        words::glyph(app, row.gold),
        Span::raw(" "),
        canvas.span(role, name),
    ];
    canvas.put(at, &Line::from(left));
    let cursor = if app.focus == PaneKind::Cases {
        Role::Selection
    } else {
        Role::SelectionIdle
    };
    if selected {
        let rect = Rect {
            y: canvas.area.y.saturating_add(at as u16),
            height: 1,
            width: (grid.x() - 1) as u16,
            ..canvas.area
        };
        let style = canvas.style(cursor);
        canvas.buf.set_style(rect.intersection(canvas.area), style);
    }
    let cells = row.cells.iter().enumerate().skip(heat.left);
    for (place, (index, mark)) in cells.take(grid.columns).enumerate() {
        let mut span = words::glyph(app, *mark);
        // where gold itself fails nothing is held against a submission
        if row.gold != Mark::Done(Outcome::Passed) {
            span.style = canvas.style(Role::Dim);
        }
        if selected && index == heat.column {
            span.style = span.style.patch(canvas.style(cursor));
        }
        let column = grid.x() + place * grid.column;
        canvas.put_at(at, column, &Line::from(span));
    }
    let pass = format!("{}/{} ", row.passed, row.ran);
    let role = if row.passed == row.ran {
        Role::Dim
    } else {
        Role::Text
    };
    let line = Line::from(canvas.span(role, pass));
    canvas.put_right(at, &line);
}

/// The submission and the case under the cursor, in full.
fn draw_foot(canvas: &mut Canvas<'_>, grid: &Grid) {
    let app = canvas.app;
    let Some((row, column)) = app.cases.heat.here() else {
        return;
    };
    let width = canvas.width().saturating_sub(2);
    let at = grid.head + grid.rows;
    let number = app.cases.heat.column + 1;
    let label = column.source.label();
    let mut first = vec![
        canvas.dim(format!("{number} ")),
        canvas.span(Role::Strong, text::clean(&label).into_owned()),
        Span::raw("  "),
    ];
    if let Some(run) = app.summary(&column.run) {
        let (word, role) = words::standing(app, run);
        first.push(canvas.span(role, word));
        first.push(Span::raw("  "));
        first.extend(words::pair(app, run.official, run.probes, 3));
    }
    first.push(Span::raw("  "));
    first.extend(canvas.key_hint(Action::ToDiff, "goes to it"));
    canvas.put_at(at, 1, &text::window(first, 0, width));
    let mut second = vec![canvas.span(Role::Text, text::clean(row.id.as_str()).into_owned())];
    let case = graded(app, &column.run, row.suite, &row.id);
    if let Some(message) = case.and_then(|case| case.message.as_deref()) {
        let line = message.lines().next().unwrap_or("");
        second.push(Span::raw("  "));
        second.push(canvas.span(Role::Bad, text::clean(line).into_owned()));
    }
    canvas.put_at(at + 1, 1, &text::window(second, 0, width));
}
