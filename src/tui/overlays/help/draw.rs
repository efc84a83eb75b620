//! The help page from the action table.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use crate::tui::action::{Entry, Scope, TABLE};
use crate::tui::layout::PaneKind;
use crate::tui::overlays::draw::window;
use crate::tui::state::App;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::Canvas;

use super::Help;

/// Columns of the keys.
const KEYS: usize = 20;

pub fn draw(app: &App, help: &Help, buf: &mut Buffer, area: Rect) {
    let rect = window(area, 96, area.height.saturating_sub(2));
    Clear.render(rect, buf);
    let mut canvas = Canvas::new(app, buf, rect);
    let rows = rows(
        &canvas,
        &help.search,
        usize::from(rect.width).saturating_sub(4),
    );
    let mut title = vec![
        Span::raw(" "),
        canvas.span(Role::Title, "keys"),
        canvas.dim(format!(" · in {}", app.focus.name())),
        Span::raw(" "),
    ];
    let find = app.ui.keymap.of(crate::tui::action::Action::Find);
    let mut right = vec![canvas.dim(format!(" {find} searches, esc closes "))];
    if help.typing || !help.search.is_empty() {
        let search = text::clean(&help.search);
        let shown = text::cut_start(&search, 24, app.ui.glyphs.ellipsis);
        title.push(canvas.span(Role::Notice, format!("/{shown}")));
        title.push(canvas.span(
            if help.typing {
                Role::Selection
            } else {
                Role::Text
            },
            " ",
        ));
        right = vec![canvas.dim(" esc clears ")];
    }
    let mut inner = canvas.boxed(Role::BorderFocus, title, right);
    if rows.is_empty() {
        let line = Line::from(inner.dim("no key does that"));
        return inner.put_at(0, 1, &line);
    }
    let last = rows.len().saturating_sub(inner.height());
    for (row, line) in rows.iter().skip(help.scroll.min(last)).enumerate() {
        if row >= inner.height() {
            break;
        }
        inner.put_at(row, 1, line);
    }
}

/// The contexts, those that work here first.
fn scopes(app: &App) -> impl Iterator<Item = Scope> {
    let mut aside = [Scope::Author, Scope::Elsewhere];
    if !app.focus.author() {
        aside.reverse();
    }
    let [here, there] = aside;
    let focus = app.focus;
    let others = PaneKind::ALL.into_iter().filter(move |pane| *pane != focus);
    [Scope::In(focus), here, Scope::Everywhere, there]
        .into_iter()
        .chain(others.map(Scope::In))
}

/// Last row that the page can be scrolled to.
pub fn last(app: &App, help: &Help, area: Rect) -> usize {
    let rect = window(area, 96, area.height.saturating_sub(2));
    let mut buf = Buffer::empty(rect);
    let canvas = Canvas::new(app, &mut buf, rect);
    let rows = rows(
        &canvas,
        &help.search,
        usize::from(rect.width).saturating_sub(4),
    );
    rows.len()
        .saturating_sub(usize::from(rect.height.saturating_sub(2)))
}

fn rows(canvas: &Canvas<'_>, search: &str, width: usize) -> Vec<Line<'static>> {
    let keymap = &canvas.app.ui.keymap;
    let wanted = search.to_lowercase();
    let found = |entry: &&Entry| {
        let keys = keymap.keys(entry).join(" ");
        let help = keymap.fill(entry.help);
        // a key is looked for as it is written, words in either case
        wanted.is_empty()
            || keymap.keys(entry).iter().any(|key| key == search)
            || (wanted.chars().count() > 1
                && [entry.name, &help, &keys]
                    .iter()
                    .any(|text| text.to_lowercase().contains(&wanted)))
    };
    let mut rows = Vec::new();
    for scope in scopes(canvas.app) {
        let entries: Vec<&Entry> = TABLE
            .iter()
            .filter(|entry| entry.scope == scope)
            .filter(found)
            .collect();
        if entries.is_empty() {
            continue;
        }
        if !rows.is_empty() {
            rows.push(Line::default());
        }
        rows.push(Line::from(canvas.span(Role::Title, scope.words())));
        for entry in entries {
            rows_of(canvas, entry, width, &mut rows);
        }
    }
    rows
}

/// An action's keys, what it does, and why it is not possible now; in several rows where it must.
fn rows_of(canvas: &Canvas<'_>, entry: &Entry, width: usize, rows: &mut Vec<Line<'static>>) {
    let keymap = &canvas.app.ui.keymap;
    let keys_width = KEYS.min(width / 3);
    let room = width.saturating_sub(keys_width + 2);
    let mut keys = keymap.keys(entry).join(", ");
    if keys.is_empty() {
        let palette = keymap.of(crate::tui::action::Action::Palette);
        keys = format!("{palette} {}", entry.name);
    }
    let help = keymap.fill(entry.help);
    let mut words = canvas.wrapped(Role::Text, &help, room, usize::MAX / 2);
    if let Err(reason) = (entry.possible)(canvas.app) {
        let reason = format!("({})", keymap.fill(reason));
        match words.last_mut() {
            Some(last) if last.width() + 2 + text::width(&reason) <= room => {
                last.push_span(canvas.dim(format!("  {reason}")));
            }
            _ => words.extend(canvas.wrapped(Role::Dim, &reason, room, usize::MAX / 2)),
        }
    }
    if text::width(&keys) >= keys_width {
        // keys that are wider than their column stand above the words
        rows.extend(
            canvas
                .wrapped(Role::Key, &keys, width.saturating_sub(2), usize::MAX / 2)
                .into_iter()
                .map(|mut line| {
                    line.spans.insert(0, Span::raw("  "));
                    line
                }),
        );
        keys.clear();
    }
    for (at, line) in words.into_iter().enumerate() {
        let keys = if at == 0 { keys.as_str() } else { "" };
        let keys = text::fit(keys, keys_width, "");
        let mut spans = vec![Span::raw("  "), canvas.span(Role::Key, keys)];
        spans.extend(line.spans);
        rows.push(Line::from(spans));
    }
}
