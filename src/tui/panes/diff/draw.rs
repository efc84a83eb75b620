//! Both sides of a file: gold left, the submission right; or one under the other.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::diff::{Row, RowKind, word_diff};
use crate::domain::Source;
use crate::tui::backend::{ChangeKind, FileChange};
use crate::tui::layout::{PaneKind, split_left, split_top};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, Title};

use super::line::{Cell, Sign, cell};
use super::state::Shown;

/// Columns of a line number and what stands around it.
const NUMBER: usize = 6;

pub fn draw(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    let title = title(canvas);
    let mut inner = canvas.pane(PaneKind::Diff, title);
    if app.diff.files.is_empty() || app.diff.error.is_some() {
        draw_empty(&mut inner);
        return;
    }
    let mut area = inner.area;
    if app.diff.files.len() > 1 && area.width >= 124 {
        let (list, rest) = split_left(area, 30);
        draw_files(&mut inner.part(list), true);
        area = rest;
    } else if app.diff.files.len() > 1 && area.height >= 18 {
        let rows = app.diff.files.len().min(5) as u16;
        let (list, rest) = split_top(area, rows + 1);
        draw_files(&mut inner.part(list), false);
        area = rest;
    }
    let mut body = inner.part(area);
    let Some(shown) = &app.diff.file else {
        let line = Line::from(body.dim(" reading…"));
        body.put(0, &line);
        return;
    };
    draw_file(&mut body, shown);
}

fn side_name(source: &Source) -> &'static str {
    match source {
        Source::Gold => "gold",
        Source::Base => "base",
        Source::Submission { .. } => "submission",
        Source::Patch { .. } => "patch",
        Source::Agent { .. } => "agent",
    }
}

fn title(canvas: &Canvas<'_>) -> Title {
    let app = canvas.app;
    let ellipsis = app.ui.glyphs.ellipsis;
    let Some(comparison) = &app.diff.comparison else {
        return Title::default();
    };
    let mut left = vec![canvas.span(Role::Title, "diff")];
    let against = format!(
        " · {} vs {}",
        text::cut(&comparison.right.label(), 20, ellipsis),
        side_name(&comparison.left)
    );
    left.push(canvas.dim(against));
    let mut right = Vec::new();
    if let Some(file) = app.diff.files.get(app.diff.selected) {
        let path = text::cut_start(&file.path, canvas.width() / 3, ellipsis);
        left.push(canvas.dim(" · "));
        left.push(canvas.span(Role::Text, path));
        let (hunk, hunks) = app.diff.hunk();
        let files = app.diff.files.len();
        let words = format!(
            "{}/{files} files · change {hunk}/{hunks}",
            app.diff.selected + 1
        );
        right.push(canvas.dim(words));
    }
    Title { left, right }
}

fn draw_empty(canvas: &mut Canvas<'_>) {
    let app = canvas.app;
    let mut rows = Vec::new();
    match &app.diff.comparison {
        None => {
            rows.push(Line::from(
                canvas.dim("select a submission to see it beside gold"),
            ));
            rows.push(Line::from(canvas.hint("t", "goes to the tasks")));
        }
        Some(_) if app.diff.error.is_some() => {
            let words = app.diff.error.clone().unwrap_or_default();
            rows.extend(canvas.block(Role::Bad, &words, canvas.height()));
        }
        Some(_) if app.diff.awaits => {
            rows.push(Line::from(canvas.dim("the agent is at work")));
            rows.push(Line::from(
                canvas.dim("what it changed is captured when it ends"),
            ));
        }
        Some(_) if app.diff.loading => rows.push(Line::from(canvas.dim("comparing…"))),
        Some(comparison) => {
            let words = format!(
                "{} is the same as {}",
                text::clean(&comparison.right.label()),
                side_name(&comparison.left)
            );
            rows.push(Line::from(canvas.dim(words)));
            rows.push(Line::from(canvas.hint("b", "compares with base or gold")));
        }
    }
    canvas.empty(&rows);
}

fn draw_files(canvas: &mut Canvas<'_>, beside: bool) {
    let app = canvas.app;
    let glyphs = &app.ui.glyphs;
    if beside {
        let bar = Line::from(canvas.span(Role::Border, glyphs.split));
        for row in 0..canvas.height() {
            canvas.put_right(row, &bar);
        }
    } else {
        let rule = glyphs.rule.repeat(canvas.width());
        let line = Line::from(canvas.span(Role::Border, rule));
        let last = canvas.height().saturating_sub(1);
        canvas.put(last, &line);
    }
    let (width, height) = if beside {
        (canvas.width().saturating_sub(1), canvas.height())
    } else {
        (canvas.width(), canvas.height().saturating_sub(1))
    };
    let first = (app.diff.selected + 1).saturating_sub(height);
    let files = app.diff.files.iter().enumerate().skip(first);
    for (at, (index, file)) in files.take(height).enumerate() {
        let line = file_line(canvas, file, width);
        canvas.put(at, &line);
        if index == app.diff.selected {
            let style = canvas.style(Role::SelectionIdle);
            let rect = Rect {
                y: canvas.area.y.saturating_add(at as u16),
                height: 1,
                width: width as u16,
                ..canvas.area
            };
            canvas.part(rect).paint(0, style);
        }
    }
}

fn file_line(canvas: &Canvas<'_>, file: &FileChange, width: usize) -> Line<'static> {
    let ellipsis = canvas.app.ui.glyphs.ellipsis;
    let (letter, role) = match file.kind {
        ChangeKind::Added => ("A", Role::Add),
        ChangeKind::Deleted => ("D", Role::Del),
        ChangeKind::Modified => ("M", Role::Accent),
        ChangeKind::Renamed => ("R", Role::Accent),
        ChangeKind::Mode => ("m", Role::Dim),
        ChangeKind::Same => ("=", Role::Dim),
    };
    let counts = if file.binary {
        "binary".to_owned()
    } else {
        format!("+{} -{}", file.added, file.deleted)
    };
    let room = width.saturating_sub(text::width(&counts) + 5);
    let path = text::cut_start(&file.path, room, ellipsis);
    let fill = room.saturating_sub(text::width(&path));
    Line::from(vec![
        Span::raw(" "),
        Span::styled(letter, canvas.style(role)),
        Span::raw(" "),
        canvas.span(Role::Text, path),
        Span::raw(" ".repeat(fill + 1)),
        canvas.dim(counts),
    ])
}

fn draw_file(canvas: &mut Canvas<'_>, shown: &Shown) {
    let app = canvas.app;
    let mut row = 0;
    for notice in &shown.file.diff.notices {
        let line = Line::from(canvas.span(Role::Notice, format!(" {}", notice.text())));
        canvas.put(row, &line);
        row += 1;
    }
    let half = canvas.width().saturating_sub(1) / 2;
    let side_by_side = !app.diff.unified;
    if side_by_side && let Some(comparison) = &app.diff.comparison {
        let name = |source: &Source| match source {
            Source::Submission { name } => text::clean(name).into_owned(),
            other => side_name(other).to_owned(),
        };
        let left = text::fit(&name(&comparison.left), half.saturating_sub(2), "");
        let right = name(&comparison.right);
        let split = app.ui.glyphs.split;
        let line = Line::from(vec![
            canvas.span(Role::Title, format!("  {left}")),
            canvas.span(Role::Border, split),
            canvas.span(Role::Title, format!("  {right}")),
        ]);
        canvas.put(row, &line);
        row += 1;
    }
    if shown.file.diff.is_same() && shown.rows.is_empty() {
        let line = Line::from(canvas.dim(" the same on both sides"));
        canvas.put(row, &line);
        return;
    }
    for at in app.diff.top..shown.rows.len() {
        if row >= canvas.height() {
            break;
        }
        if let Some(content) = shown.rows.row(&shown.file.diff, at) {
            let line = if side_by_side {
                split_row(canvas, shown, &content, half)
            } else {
                unified_row(canvas, shown, &content)
            };
            canvas.put(row, &line);
        }
        row += 1;
    }
}

/// Unchanged lines that are folded away.
fn fold_row(canvas: &Canvas<'_>, hidden: u32) -> Line<'static> {
    let gap = canvas.app.ui.glyphs.gap;
    let lines = if hidden == 1 { "line" } else { "lines" };
    let words = format!("  {gap}  {hidden} unchanged {lines}   e unfolds");
    Line::from(canvas.span(Role::Hunk, words))
}

fn split_row(canvas: &Canvas<'_>, shown: &Shown, row: &Row, half: usize) -> Line<'static> {
    let Row::Line { kind, old, new, .. } = row else {
        return match row {
            Row::Fold { hidden, .. } => fold_row(canvas, *hidden),
            _ => Line::default(),
        };
    };
    let changed = *kind != RowKind::Context;
    let words = match (changed, old, new) {
        (true, Some(old), Some(new)) => word_diff(
            old.text(&shown.file.sides[0]),
            new.text(&shown.file.sides[1]),
        ),
        _ => None,
    };
    let (old_words, new_words) = words.map_or((None, None), |w| (Some(w.old), Some(w.new)));
    let sign = |sign| if changed { sign } else { Sign::Same };
    let width = half.saturating_sub(NUMBER);
    let left = cell(
        canvas,
        shown,
        &Cell {
            side: 0,
            span: *old,
            sign: sign(Sign::Removed),
            emphasis: old_words,
            width,
        },
    );
    let right = cell(
        canvas,
        shown,
        &Cell {
            side: 1,
            span: *new,
            sign: sign(Sign::Added),
            emphasis: new_words,
            width,
        },
    );
    let mut spans = number(canvas, old.map(|span| span.no), None);
    spans.extend(left);
    spans.push(canvas.span(Role::Border, canvas.app.ui.glyphs.split));
    let marked = canvas.app.diff.marked;
    spans.extend(number(canvas, new.map(|span| span.no), marked));
    spans.extend(right);
    Line::from(spans)
}

fn number(canvas: &Canvas<'_>, no: Option<u32>, marked: Option<u32>) -> Vec<Span<'static>> {
    let shown = no.map_or_else(|| " ".repeat(NUMBER), |no| format!("{no:>5} "));
    let role = if no.is_some() && no == marked {
        Role::Match
    } else {
        Role::LineNo
    };
    vec![canvas.span(role, shown)]
}

fn unified_row(canvas: &Canvas<'_>, shown: &Shown, row: &Row) -> Line<'static> {
    let Row::Line {
        kind,
        old,
        new,
        pair,
    } = row
    else {
        return match row {
            Row::Fold { hidden, .. } => fold_row(canvas, *hidden),
            _ => Line::default(),
        };
    };
    let (side, span, sign) = match kind {
        RowKind::Removed => (0, *old, Sign::Removed),
        RowKind::Added => (1, *new, Sign::Added),
        _ => (1, *new, Sign::Same),
    };
    let emphasis = match (span, pair) {
        (Some(mine), Some(other)) if side == 0 => word_diff(
            mine.text(&shown.file.sides[0]),
            other.text(&shown.file.sides[1]),
        )
        .map(|words| words.old),
        (Some(mine), Some(other)) => word_diff(
            other.text(&shown.file.sides[0]),
            mine.text(&shown.file.sides[1]),
        )
        .map(|words| words.new),
        _ => None,
    };
    let marked = canvas.app.diff.marked;
    let mut spans = number(canvas, old.map(|span| span.no), None);
    spans.extend(number(canvas, new.map(|span| span.no), marked));
    spans.extend(cell(
        canvas,
        shown,
        &Cell {
            side,
            span,
            sign,
            emphasis,
            width: canvas.width().saturating_sub(2 * NUMBER),
        },
    ));
    Line::from(spans)
}
