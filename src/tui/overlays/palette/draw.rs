//! The palette: the line that is typed, what it leaves, and what the chosen one does.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use crate::tui::layout::{split_bottom, split_top};
use crate::tui::overlays::draw::window;
use crate::tui::state::App;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::Canvas;

use super::state::{Item, Palette, Shown};

/// The box, and the rows of the list in it.
pub fn areas(area: Rect) -> (Rect, Rect) {
    let rect = window(area, 96, area.height.saturating_sub(2).min(28));
    let inner = Rect {
        x: rect.x.saturating_add(1),
        y: rect.y.saturating_add(1),
        width: rect.width.saturating_sub(2),
        height: rect.height.saturating_sub(2),
    };
    let (_, rest) = split_top(inner, 1);
    let (list, _) = split_bottom(rest, foot(inner.height));
    (rect, list)
}

/// Rows that say what the chosen one does.
fn foot(height: u16) -> u16 {
    if height > 8 { 3 } else { 1 }
}

pub fn draw(app: &App, palette: &Palette, buf: &mut Buffer, area: Rect) {
    let (rect, list) = areas(area);
    Clear.render(rect, buf);
    let mut canvas = Canvas::new(app, buf, rect);
    let title = vec![
        Span::raw(" "),
        canvas.span(Role::Title, "palette"),
        canvas.dim(format!(" · in {}", app.focus.name())),
        Span::raw(" "),
    ];
    let keys = vec![canvas.dim(" enter does it, esc closes ")];
    let mut inner = canvas.boxed(Role::BorderFocus, title, keys);
    let ellipsis = app.ui.glyphs.ellipsis;
    let room = inner.width().saturating_sub(4);
    let typed = text::cut_start(&palette.text, room, ellipsis);
    let line = Line::from(vec![
        inner.span(Role::Key, "> "),
        inner.span(Role::Strong, typed),
        inner.span(Role::Selection, " "),
    ]);
    inner.put_at(0, 1, &line);
    let foot_area = Rect {
        y: list.bottom(),
        height: rect
            .bottom()
            .saturating_sub(1)
            .saturating_sub(list.bottom()),
        ..list
    };
    draw_list(&mut inner.part(list), palette);
    let mut foot = inner.part(foot_area);
    let width = foot.width().saturating_sub(2);
    let rows = foot.height().saturating_sub(usize::from(foot.height() > 1));
    if let Some(item) = palette.item() {
        let (role, words) = match &item.refused {
            Some(reason) => (Role::Notice, format!("not now: {reason}")),
            None => (Role::Text, item.help.clone()),
        };
        let lines = foot.wrapped(role, &words, width, rows.max(1));
        let top = foot.height().saturating_sub(rows);
        for (at, line) in lines.iter().enumerate() {
            foot.put_at(top + at, 1, line);
        }
    }
}

fn draw_list(canvas: &mut Canvas<'_>, palette: &Palette) {
    if palette.shown.is_empty() {
        let words = canvas.dim("nothing is called so");
        return canvas.put_at(0, 1, &Line::from(words));
    }
    let seen = palette.shown.iter().enumerate().skip(palette.top);
    let names = palette.shown.iter().skip(palette.top).take(canvas.height());
    let widest = names.filter_map(|shown| palette.items.get(shown.item));
    let widest = widest
        .map(|item| text::width(&item.name))
        .max()
        .unwrap_or(0);
    let column = widest.clamp(8, (canvas.width() * 2 / 5).max(8));
    for (row, (at, shown)) in seen.take(canvas.height()).enumerate() {
        let Some(item) = palette.items.get(shown.item) else {
            continue;
        };
        let line = item_line(canvas, item, shown, column);
        canvas.put_at(row, 1, &line);
        if at == palette.selected {
            let style = canvas.style(Role::Selection);
            canvas.paint(row, style);
        }
    }
}

/// Name, what it does or why it cannot be done, and on the right its keys.
fn item_line(canvas: &Canvas<'_>, item: &Item, shown: &Shown, column: usize) -> Line<'static> {
    let ellipsis = canvas.app.ui.glyphs.ellipsis;
    let width = canvas.width().saturating_sub(2);
    let (plain, marked) = match item.refused {
        Some(_) => (Role::Dim, Role::Dim),
        None => (Role::Strong, Role::Match),
    };
    let name = text::cut(&item.name, column, ellipsis);
    let used = text::width(&name);
    let mut spans: Vec<Span<'static>> = name
        .chars()
        .enumerate()
        .map(|(at, c)| {
            let hit = shown.marks.binary_search(&(at as u32)).is_ok();
            canvas.span(if hit { marked } else { plain }, c.to_string())
        })
        .collect();
    spans.push(Span::raw(" ".repeat(column.saturating_sub(used) + 2)));
    let keys = text::cut(&item.key, width / 4, ellipsis);
    let room = width.saturating_sub(column + 4 + text::width(&keys));
    let words = item.refused.as_deref().unwrap_or(&item.help);
    spans.push(canvas.dim(text::fit(words, room, ellipsis)));
    spans.push(Span::raw("  "));
    spans.push(canvas.span(Role::Key, keys));
    Line::from(spans)
}
