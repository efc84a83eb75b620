//! What lies over the panes: the question before a cancel, the line being typed.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use crate::tui::state::App;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::Canvas;

use super::{Overlay, Prompt, agents, help, palette, pick};

pub fn draw(app: &App, overlay: &Overlay, buf: &mut Buffer, area: Rect) {
    match overlay {
        Overlay::Help(help) => help::draw::draw(app, help, buf, area),
        Overlay::Palette(palette) => palette::draw::draw(app, palette, buf, area),
        Overlay::ConfirmCancel { what, told, runs } => {
            confirm(app, what, told, runs.len() != 1, buf, area);
        }
        Overlay::Agents(chooser) => agents::draw::draw(app, chooser, buf, area),
        Overlay::Pick(list) => pick::draw(app, list, buf, area),
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

fn confirm(app: &App, what: &str, told: &[String], many: bool, buf: &mut Buffer, area: Rect) {
    let ellipsis = app.ui.glyphs.ellipsis;
    let longest = told.iter().map(|line| text::width(line)).max();
    let width = text::width(what).max(longest.unwrap_or(0)).clamp(36, 68) + 4;
    let room = width.min(area.width.into()).saturating_sub(4);
    let wrapped = told.iter().flat_map(|line| text::wrap(line, room, 4));
    let told: Vec<String> = wrapped.collect();
    let rect = window(area, width as u16, told.len() as u16 + 5);
    Clear.render(rect, buf);
    let mut canvas = Canvas::new(app, buf, rect);
    let title = vec![
        Span::raw(" "),
        canvas.span(Role::Title, "cancel"),
        Span::raw(" "),
    ];
    let mut inner = canvas.boxed(Role::BorderFocus, title, Vec::new());
    let line = Line::from(inner.span(Role::Text, text::cut(what, room, ellipsis)));
    inner.put_at(0, 1, &line);
    // the keys are seen also where there is no room for every word
    let rows = told.len().min(usize::from(rect.height).saturating_sub(5));
    for (at, line) in told.iter().take(rows).enumerate() {
        let line = Line::from(inner.dim(line.clone()));
        inner.put_at(1 + at, 1, &line);
    }
    let [end, keep] = if many {
        ["cancel them", "let them run"]
    } else {
        ["cancel it", "let it run"]
    };
    let mut keys = inner.hint("y", end);
    keys.push(Span::raw("   "));
    keys.extend(inner.hint("n", keep));
    inner.put_at(2 + rows, 1, &Line::from(keys));
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
