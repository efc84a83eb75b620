//! The list of files, or of parts: how it differs, who touches it, how many lines.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::diff::align::Touched;
use crate::domain::Source;
use crate::tui::backend::ChangeKind;
use crate::tui::state::Comparison;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::Canvas;

use super::entries::{By, Entry};
use super::state::DiffState;

/// A row of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListRow {
    /// What comes now, and how many of it there are.
    Head(usize, Group),
    Entry(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    Pairs,
    OnlyLeft,
    OnlyRight,
}

fn group(entry: &Entry) -> Group {
    match (entry.alone(), entry.kind) {
        (false, _) => Group::Pairs,
        (true, ChangeKind::Added) => Group::OnlyRight,
        (true, _) => Group::OnlyLeft,
    }
}

/// The rows of the list: parts stand under headings that tell what has no counterpart.
pub fn list_rows(diff: &DiffState) -> Vec<ListRow> {
    let by_symbol = diff.comparison.as_ref().is_some_and(|c| c.by == By::Symbol);
    let mut rows = Vec::with_capacity(diff.files.len() + 3);
    let mut last = None;
    for (at, entry) in diff.files.iter().enumerate() {
        let own = group(entry);
        if by_symbol && last != Some(own) {
            let count = diff.files.iter().filter(|e| group(e) == own).count();
            rows.push(ListRow::Head(count, own));
            last = Some(own);
        }
        rows.push(ListRow::Entry(at));
    }
    rows
}

pub fn draw(canvas: &mut Canvas<'_>, beside: bool) {
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
    let rows = list_rows(&app.diff);
    let here = rows
        .iter()
        .position(|row| *row == ListRow::Entry(app.diff.selected))
        .unwrap_or(0);
    // what comes before and after it is seen too
    let first = here
        .saturating_sub(height / 2)
        .min(rows.len().saturating_sub(height));
    for (at, row) in rows.into_iter().skip(first).take(height).enumerate() {
        let line = match row {
            ListRow::Head(count, group) => head(canvas, group, count, width),
            ListRow::Entry(index) => match app.diff.files.get(index) {
                Some(entry) => line(canvas, entry, width),
                None => continue,
            },
        };
        canvas.put(at, &line);
        if row == ListRow::Entry(app.diff.selected) {
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

fn head(canvas: &Canvas<'_>, group: Group, count: usize, width: usize) -> Line<'static> {
    let ellipsis = canvas.app.ui.glyphs.ellipsis;
    let name = |side: usize| {
        let source = canvas.app.diff.source_on(side);
        source
            .map(|s| text::clean(&s.label()).into_owned())
            .unwrap_or_default()
    };
    let words = match group {
        Group::Pairs => format!("{count} beside each other"),
        Group::OnlyLeft => format!("{count} only in {}", name(0)),
        Group::OnlyRight => format!("{count} only in {}", name(1)),
    };
    Line::from(canvas.span(
        Role::Title,
        format!(" {}", text::cut(&words, width.saturating_sub(1), ellipsis)),
    ))
}

/// Which change touches it: `G` gold's alone, `S` the other's alone, `B` both.
pub fn mark(comparison: Option<&Comparison>, touched: Option<Touched>) -> (&'static str, Role) {
    let gold = comparison
        .and_then(Comparison::marked)
        .is_some_and(|[left, _]| *left == Source::Gold);
    match touched {
        None => (" ", Role::Dim),
        Some(Touched::Both) => ("B", Role::Strong),
        Some(Touched::Left) if gold => ("G", Role::Notice),
        Some(Touched::Left) => ("L", Role::Notice),
        Some(Touched::Right) if gold => ("S", Role::Accent),
        Some(Touched::Right) => ("R", Role::Accent),
    }
}

fn line(canvas: &Canvas<'_>, entry: &Entry, width: usize) -> Line<'static> {
    let ellipsis = canvas.app.ui.glyphs.ellipsis;
    let (letter, role) = match entry.kind {
        ChangeKind::Added => ("A", Role::Add),
        ChangeKind::Deleted => ("D", Role::Del),
        ChangeKind::Modified => ("M", Role::Accent),
        // a part that stands elsewhere, or under another name
        ChangeKind::Renamed => ("R", Role::Accent),
        ChangeKind::Mode => ("m", Role::Dim),
        ChangeKind::Same => ("=", Role::Dim),
    };
    let (mark, mark_role) = mark(canvas.app.diff.comparison.as_ref(), entry.touched);
    let counts = if entry.binary {
        vec![canvas.dim("binary")]
    } else {
        vec![
            canvas.span(Role::Add, format!("+{}", entry.added)),
            Span::raw(" "),
            canvas.span(Role::Del, format!("-{}", entry.deleted)),
        ]
    };
    let taken: usize = counts.iter().map(Span::width).sum();
    let room = width.saturating_sub(taken + 7);
    let name = text::cut_start(entry.name(), room, ellipsis);
    let mut left = room.saturating_sub(text::width(&name));
    let mut spans = vec![
        Span::raw(" "),
        canvas.span(mark_role, mark),
        Span::raw(" "),
        canvas.span(role, letter),
        Span::raw(" "),
        canvas.span(Role::Text, name),
    ];
    if entry.part.as_ref().is_some_and(|p| p.name != entry.path) && left > 6 {
        let path = text::cut_start(&entry.path, left - 2, ellipsis);
        left = left.saturating_sub(text::width(&path) + 2);
        spans.push(canvas.dim(format!("  {path}")));
    }
    spans.push(Span::raw(" ".repeat(left + 1)));
    spans.extend(counts);
    Line::from(spans)
}
