//! A short list to choose a line from.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use crate::domain::Source;
use crate::domain::notes::LineNote;
use crate::tui::panes::cases::Only;
use crate::tui::state::App;
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, figures};

use super::draw::window;

/// What a line of the list stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// What the diff compares with.
    Against(Source),
    Note(Box<LineNote>),
    /// Which cases are shown; `None`: all.
    Alike(Option<Only>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Pick {
    pub title: &'static str,
    /// The keys beside enter and esc.
    pub keys: &'static [(&'static str, &'static str)],
    /// What it is, and more about it; untrusted.
    pub rows: Vec<(String, String, Choice)>,
    pub selected: usize,
}

pub fn draw(app: &App, pick: &Pick, buf: &mut Buffer, area: Rect) {
    let height = pick.rows.len().min(20) as u16 + 4;
    let rect = window(area, 84, height);
    Clear.render(rect, buf);
    let mut canvas = Canvas::new(app, buf, rect);
    let title = vec![
        Span::raw(" "),
        canvas.span(Role::Title, pick.title),
        Span::raw(" "),
    ];
    let rows = usize::from(rect.height).saturating_sub(4);
    let first = (pick.selected + 1).saturating_sub(rows.max(1));
    let seen = figures::part(first, rows, pick.rows.len()).into_iter();
    let seen = seen.map(|part| canvas.dim(format!(" {part} "))).collect();
    let mut inner = canvas.boxed(Role::BorderFocus, title, seen);
    let width = inner.width().saturating_sub(2);
    let ellipsis = app.ui.glyphs.ellipsis;
    for (row, (words, more, _)) in pick.rows.iter().skip(first).take(rows).enumerate() {
        let words = text::cut(words, width, ellipsis);
        let room = width.saturating_sub(text::width(&words) + 2);
        let mut line = vec![Span::raw(" "), inner.span(Role::Text, words)];
        if room > 4 {
            line.push(inner.dim(format!("  {}", text::cut(more, room, ellipsis))));
        }
        inner.put(row, &Line::from(line));
        if row + first == pick.selected {
            let style = inner.style(Role::Selection);
            inner.paint(row, style);
        }
    }
    let mut keys = Vec::new();
    let enter = [("enter", "chooses")];
    for (key, what) in enter.iter().chain(pick.keys).chain(&[("esc", "closes")]) {
        keys.extend(inner.hint(key, what));
        keys.push(Span::raw("   "));
    }
    inner.put_at(rows + 1, 1, &Line::from(keys));
}
