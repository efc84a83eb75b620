//! Help from the action table, the question before a cancel, the line being typed.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use crate::tui::action::{Entry, Scope, TABLE};
use crate::tui::layout::PaneKind;
use crate::tui::state::App;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::Canvas;

use super::{Overlay, Prompt, agents};

pub fn draw(app: &App, overlay: &Overlay, buf: &mut Buffer, area: Rect) {
    match overlay {
        Overlay::Help { scroll } => help(app, *scroll, buf, area),
        Overlay::ConfirmCancel { what, .. } => confirm(app, what, buf, area),
        Overlay::Agents(chooser) => agents::draw::draw(app, chooser, buf, area),
        // drawn in the footer's place
        Overlay::Prompt(_) => {}
    }
}

/// A cleared box in the middle of the screen.
pub fn window(area: Rect, width: u16, height: u16) -> Rect {
    let width = width.min(area.width);
    let height = height.min(area.height);
    Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    }
}

fn help(app: &App, scroll: usize, buf: &mut Buffer, area: Rect) {
    let rect = window(area, 96, area.height.saturating_sub(2));
    Clear.render(rect, buf);
    let mut canvas = Canvas::new(app, buf, rect);
    let rows = help_rows(&canvas, usize::from(rect.width).saturating_sub(4));
    let title = vec![
        Span::raw(" "),
        canvas.span(Role::Title, "keys"),
        canvas.dim(format!(" · in {}", app.focus.name())),
        Span::raw(" "),
    ];
    let right = vec![canvas.dim(" j k scroll, esc closes ")];
    let mut inner = canvas.boxed(Role::BorderFocus, title, right);
    let last = rows.len().saturating_sub(inner.height());
    for (row, line) in rows.iter().skip(scroll.min(last)).enumerate() {
        if row >= inner.height() {
            break;
        }
        inner.put_at(row, 1, line);
    }
}

fn help_rows(canvas: &Canvas<'_>, width: usize) -> Vec<Line<'static>> {
    let app = canvas.app;
    let mut rows = Vec::new();
    let scopes = [Scope::In(app.focus), Scope::Everywhere].into_iter().chain(
        PaneKind::ALL
            .into_iter()
            .filter(|pane| *pane != app.focus)
            .map(Scope::In),
    );
    for scope in scopes {
        let entries: Vec<&Entry> = TABLE.iter().filter(|entry| entry.scope == scope).collect();
        if entries.is_empty() {
            continue;
        }
        if !rows.is_empty() {
            rows.push(Line::default());
        }
        let heading = match scope {
            Scope::Everywhere => "everywhere".to_owned(),
            Scope::In(pane) => format!("in {}", pane.name()),
        };
        rows.push(Line::from(canvas.span(Role::Title, heading)));
        for entry in entries {
            help_rows_of(canvas, entry, width, &mut rows);
        }
    }
    rows
}

/// An action's keys, what it does, and why it is not possible now; in several rows where it must.
fn help_rows_of(canvas: &Canvas<'_>, entry: &Entry, width: usize, rows: &mut Vec<Line<'static>>) {
    let keys_width = 18.min(width / 3);
    let room = width.saturating_sub(keys_width + 2);
    let keys = text::fit(&entry.keys.join(" "), keys_width, "");
    let mut words = canvas.wrapped(Role::Text, entry.help, room, usize::MAX / 2);
    if let Err(reason) = (entry.possible)(canvas.app) {
        let reason = format!("({reason})");
        match words.last_mut() {
            Some(last) if last.width() + 2 + text::width(&reason) <= room => {
                last.push_span(canvas.dim(format!("  {reason}")));
            }
            _ => words.extend(canvas.wrapped(Role::Dim, &reason, room, usize::MAX / 2)),
        }
    }
    for (at, line) in words.into_iter().enumerate() {
        let keys = if at == 0 { keys.as_str() } else { "" };
        let keys = text::fit(keys, keys_width, "");
        let mut spans = vec![Span::raw("  "), canvas.span(Role::Key, keys)];
        spans.extend(line.spans);
        rows.push(Line::from(spans));
    }
}

fn confirm(app: &App, what: &str, buf: &mut Buffer, area: Rect) {
    let ellipsis = app.ui.glyphs.ellipsis;
    let question = format!("Cancel the run {what}?");
    let width = text::width(&question).clamp(36, 72) as u16 + 4;
    let rect = window(area, width, 6);
    Clear.render(rect, buf);
    let mut canvas = Canvas::new(app, buf, rect);
    let title = vec![
        Span::raw(" "),
        canvas.span(Role::Title, "cancel"),
        Span::raw(" "),
    ];
    let mut inner = canvas.boxed(Role::BorderFocus, title, Vec::new());
    let room = inner.width().saturating_sub(2);
    let line = Line::from(inner.span(Role::Text, text::cut(&question, room, ellipsis)));
    inner.put_at(0, 1, &line);
    let line = Line::from(inner.dim(text::cut("What it found so far is kept.", room, ellipsis)));
    inner.put_at(1, 1, &line);
    let mut keys = inner.hint("y", "cancel it");
    keys.push(Span::raw("   "));
    keys.extend(inner.hint("n", "let it run"));
    inner.put_at(3, 1, &Line::from(keys));
}

/// `filter cases: text▏`
pub fn prompt_line(canvas: &Canvas<'_>, prompt: &Prompt) -> Line<'static> {
    let label = format!(" {}: ", prompt.what.label());
    let room = canvas.width().saturating_sub(text::width(&label) + 2);
    let ellipsis = canvas.app.ui.glyphs.ellipsis;
    Line::from(vec![
        canvas.span(Role::Key, label),
        canvas.span(Role::Strong, text::cut_start(&prompt.text, room, ellipsis)),
        canvas.span(Role::Selection, " "),
        canvas.dim("  enter keeps, esc drops"),
    ])
}
