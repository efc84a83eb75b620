//! The lines of the shown file, beside each other or one under the other.

use ratatui::text::{Line, Span};

use crate::diff::{Row, RowKind, word_diff};
use crate::domain::Source;
use crate::tui::layout::PaneKind;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::Canvas;

use super::entries::Entry;
use super::line::{Cell, Sign, cell};
use super::marks;
use super::state::Shown;

/// Columns of a line number and the sign behind it.
const NUMBER: usize = 6;

pub fn draw(canvas: &mut Canvas<'_>, shown: &Shown) {
    let app = canvas.app;
    let mut row = 0;
    for notice in &shown.file.diff.notices {
        let mut line = vec![canvas.span(Role::Notice, format!(" {}", notice.text()))];
        if matches!(notice, crate::diff::Notice::TooLarge { .. }) {
            line.push(Span::raw("   "));
            line.extend(canvas.hint("L", "shows it all the same"));
        }
        canvas.put(row, &Line::from(line));
        row += 1;
    }
    let half = canvas.width().saturating_sub(1) / 2;
    let side_by_side = !app.diff.unified;
    let part = app.diff.entry().is_some_and(|e| e.part.is_some());
    if side_by_side {
        let split = app.ui.glyphs.split;
        let mut line = side_title(canvas, shown, 0, half);
        line.push(canvas.span(Role::Border, split));
        line.extend(side_title(canvas, shown, 1, half));
        canvas.put(row, &Line::from(line));
        row += 1;
    } else if part {
        let half = canvas.width() / 2;
        let mut line = side_title(canvas, shown, 0, half);
        line.extend(side_title(canvas, shown, 1, half));
        canvas.put(row, &Line::from(line));
        row += 1;
    } else if let Some(old) = app.diff.entry().and_then(|e| e.old_path.as_deref()) {
        let room = canvas.width().saturating_sub(14);
        let old = text::cut_start(old, room, app.ui.glyphs.ellipsis);
        let line = Line::from(canvas.span(Role::Notice, format!(" renamed from {old}")));
        canvas.put(row, &line);
        row += 1;
    }
    if shown.file.diff.is_same() && shown.rows.is_empty() {
        let line = Line::from(canvas.dim(" the same on both sides"));
        canvas.put(row, &line);
        return;
    }
    let foot = foot(canvas);
    let height = canvas.height().saturating_sub(usize::from(foot.is_some()));
    for at in app.diff.top..shown.rows.len() {
        if row >= height {
            break;
        }
        if let Some(content) = shown.rows.row(&shown.file.diff, at) {
            let here = at == app.diff.cursor && app.focus == PaneKind::Diff;
            let line = match &content {
                Row::Fold { hidden, .. } => fold_row(canvas, *hidden, here),
                Row::Hunk { .. } => Line::default(),
                Row::Line { .. } if side_by_side => split_row(canvas, shown, &content, half, here),
                Row::Line { .. } => unified_row(canvas, shown, &content, here),
            };
            canvas.put(row, &line);
        }
        row += 1;
    }
    if let Some(line) = foot {
        canvas.put(height, &line);
    }
}

/// Whose side it is, and where it stands where that says something.
fn side_title(canvas: &Canvas<'_>, shown: &Shown, side: usize, width: usize) -> Vec<Span<'static>> {
    let app = canvas.app;
    let ellipsis = app.ui.glyphs.ellipsis;
    let source = app.diff.source_on(side);
    let name = source.map(Source::label).unwrap_or_default();
    let name = text::cut(&name, width.saturating_sub(2), ellipsis);
    let mut spans = vec![canvas.span(Role::Title, format!("  {name}"))];
    let mut left = width.saturating_sub(2 + text::width(&name));
    let place = |entry: &Entry| {
        let part = entry.part.as_ref();
        if part.is_none() && entry.old_path.is_none() || !shown.file.has[side] {
            return None;
        }
        let other = part
            .and_then(|p| p.old_name.as_deref())
            .filter(|_| side == 0);
        let name = part.map(|p| other.unwrap_or(&p.name));
        // a file that is one part is named by its path
        let name = name.filter(|name| *name != entry.path_on(side));
        let symbol = name.map(|name| format!("{name} "));
        let line = part
            .and_then(|p| p.lines[side].as_ref())
            .map(|l| format!(":{}", l.start));
        Some(format!(
            "{}{}{}",
            symbol.unwrap_or_default(),
            entry.path_on(side),
            line.unwrap_or_default()
        ))
    };
    if left > 8 {
        let words = match app.diff.entry() {
            Some(entry) if entry.part.is_some() && !shown.file.has[side] => {
                Some("nothing stands for it here".to_owned())
            }
            entry => entry.and_then(place),
        };
        if let Some(words) = words {
            let words = text::cut_start(&words, left - 3, ellipsis);
            left = left.saturating_sub(2 + text::width(&words));
            spans.push(canvas.dim(format!("  {words}")));
        }
    }
    spans.push(Span::raw(" ".repeat(left)));
    spans
}

/// The note on the cursor's line, in full.
fn foot(canvas: &Canvas<'_>) -> Option<Line<'static>> {
    let note = marks::note_here(canvas.app)?;
    let ellipsis = canvas.app.ui.glyphs.ellipsis;
    let who = format!("  {}", text::clean(&note.by));
    let room = canvas.width().saturating_sub(text::width(&who) + 4);
    Some(Line::from(vec![
        canvas.span(Role::Badge, format!(" {} ", note_sign(canvas))),
        canvas.span(Role::Strong, text::cut(&note.text, room, ellipsis)),
        canvas.dim(who),
    ]))
}

fn note_sign(canvas: &Canvas<'_>) -> &'static str {
    if canvas.app.ui.glyphs.unicode {
        "✎"
    } else {
        "#"
    }
}

/// Unchanged lines that are folded away.
fn fold_row(canvas: &Canvas<'_>, hidden: u32, here: bool) -> Line<'static> {
    let gap = canvas.app.ui.glyphs.gap;
    let lines = if hidden == 1 { "line" } else { "lines" };
    let keys = if here {
        "enter unfolds them"
    } else {
        "e unfolds"
    };
    let words = format!("  {gap}  {hidden} unchanged {lines}   {keys}");
    let style = if here {
        canvas
            .style(Role::Hunk)
            .patch(canvas.style(Role::Selection))
    } else {
        canvas.style(Role::Hunk)
    };
    Line::from(Span::styled(words, style))
}

fn split_row(
    canvas: &Canvas<'_>,
    shown: &Shown,
    row: &Row,
    half: usize,
    here: bool,
) -> Line<'static> {
    let Row::Line { kind, old, new, .. } = row else {
        return Line::default();
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
    let side = |side, span, sign, emphasis| Cell {
        side,
        span,
        sign,
        emphasis,
        width,
    };
    let mut spans = number(canvas, 0, old.map(|span| span.no), here);
    spans.extend(cell(
        canvas,
        shown,
        &side(0, *old, sign(Sign::Removed), old_words),
    ));
    spans.push(canvas.span(Role::Border, canvas.app.ui.glyphs.split));
    spans.extend(number(canvas, 1, new.map(|span| span.no), here));
    spans.extend(cell(
        canvas,
        shown,
        &side(1, *new, sign(Sign::Added), new_words),
    ));
    Line::from(spans)
}

/// A line's number and what stands beside the line.
fn number(canvas: &Canvas<'_>, side: usize, no: Option<u32>, here: bool) -> Vec<Span<'static>> {
    let app = canvas.app;
    let cursor = |role| {
        let style = canvas.style(role);
        if here {
            style.patch(canvas.style(Role::Selection))
        } else {
            style
        }
    };
    let Some(no) = no else {
        return vec![Span::styled(" ".repeat(NUMBER), cursor(Role::LineNo))];
    };
    let frame = marks::frame_on(app, side, no).is_some();
    let marked = side == 1 && app.diff.marked == Some(no);
    let role = match (marked, frame) {
        (true, _) => Role::Match,
        (false, true) => Role::Bad,
        (false, false) => Role::LineNo,
    };
    let (sign, sign_role) = if marks::note_on(app, side, no).is_some() {
        (note_sign(canvas), Role::Badge)
    } else if frame {
        (app.ui.glyphs.cursor, Role::Bad)
    } else {
        (" ", role)
    };
    vec![
        Span::styled(format!("{no:>5}"), cursor(role)),
        Span::styled(sign, cursor(sign_role)),
    ]
}

fn unified_row(canvas: &Canvas<'_>, shown: &Shown, row: &Row, here: bool) -> Line<'static> {
    let Row::Line {
        kind,
        old,
        new,
        pair,
    } = row
    else {
        return Line::default();
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
    let mut spans = number(canvas, 0, old.map(|span| span.no), here);
    spans.extend(number(canvas, 1, new.map(|span| span.no), here));
    let content = Cell {
        side,
        span,
        sign,
        emphasis,
        width: canvas.width().saturating_sub(2 * NUMBER),
    };
    spans.extend(cell(canvas, shown, &content));
    Line::from(spans)
}
