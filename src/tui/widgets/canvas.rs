//! A part of the screen with the theme at hand. Every write is clipped to it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::symbols::border;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Widget};

use crate::tui::action::{Action, entry};
use crate::tui::layout::PaneKind;
use crate::tui::state::App;
use crate::tui::text;
use crate::tui::theme::Role;

const ASCII_BORDER: border::Set<'static> = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

/// What stands in a pane's upper border.
#[derive(Clone, Debug, Default)]
pub struct Title {
    pub left: Vec<Span<'static>>,
    pub right: Vec<Span<'static>>,
}

pub struct Canvas<'a> {
    pub app: &'a App,
    pub buf: &'a mut Buffer,
    pub area: Rect,
}

impl<'a> Canvas<'a> {
    pub fn new(app: &'a App, buf: &'a mut Buffer, area: Rect) -> Self {
        let area = area.intersection(buf.area);
        Self { app, buf, area }
    }

    /// A part of this canvas.
    pub fn part(&mut self, area: Rect) -> Canvas<'_> {
        Canvas {
            app: self.app,
            area: area.intersection(self.area),
            buf: self.buf,
        }
    }

    pub fn style(&self, role: Role) -> Style {
        self.app.ui.theme.style(role)
    }

    pub fn width(&self) -> usize {
        usize::from(self.area.width)
    }

    pub fn height(&self) -> usize {
        usize::from(self.area.height)
    }

    /// Writes a line on a row, cut at the right edge. Its text must be safe already.
    pub fn put(&mut self, row: usize, line: &Line<'_>) {
        self.put_at(row, 0, line);
    }

    pub fn put_at(&mut self, row: usize, column: usize, line: &Line<'_>) {
        let (Ok(dy), Ok(dx)) = (u16::try_from(row), u16::try_from(column)) else {
            return;
        };
        if dy >= self.area.height || dx >= self.area.width {
            return;
        }
        let (x, y) = (self.area.x + dx, self.area.y + dy);
        self.buf.set_line(x, y, line, self.area.width - dx);
    }

    /// Writes a line so that it ends at the right edge; cut where it is too wide.
    pub fn put_right(&mut self, row: usize, line: &Line<'_>) {
        let column = self.width().saturating_sub(line.width());
        self.put_at(row, column, line);
    }

    /// Lays a style over a whole row.
    pub fn paint(&mut self, row: usize, style: Style) {
        let Ok(dy) = u16::try_from(row) else { return };
        if dy < self.area.height {
            let rect = Rect::new(self.area.x, self.area.y + dy, self.area.width, 1);
            self.buf.set_style(rect, style);
        }
    }

    /// Draws a pane's border and title; returns what is inside.
    pub fn pane(&mut self, kind: PaneKind, title: Title) -> Canvas<'_> {
        let focused = self.app.focus == kind && self.app.overlay.is_none();
        let role = if focused {
            Role::BorderFocus
        } else {
            Role::Border
        };
        let mut left = vec![Span::raw(" ")];
        let key = entry(Action::Pane(kind)).and_then(|entry| self.app.ui.keymap.first(entry));
        if let Some(key) = key {
            left.push(self.span(Role::Key, key));
            left.push(Span::raw(" "));
        }
        if title.left.is_empty() {
            left.push(Span::styled(kind.name(), self.style(Role::Title)));
        }
        left.extend(title.left);
        left.push(Span::raw(" "));
        let mut right = title.right;
        if !right.is_empty() {
            right.insert(0, Span::raw(" "));
            right.push(Span::raw(" "));
        }
        self.boxed(role, left, right)
    }

    /// A box with a title; returns what is inside.
    pub fn boxed(
        &mut self,
        role: Role,
        left: Vec<Span<'static>>,
        right: Vec<Span<'static>>,
    ) -> Canvas<'_> {
        let set = if self.app.ui.glyphs.unicode {
            border::ROUNDED
        } else {
            ASCII_BORDER
        };
        let block = Block::new()
            .borders(Borders::ALL)
            .border_set(set)
            .border_style(self.style(role));
        let inner = block.inner(self.area);
        block.render(self.area, self.buf);
        let room = self.width().saturating_sub(2);
        let right = Line::from(right);
        let left = text::window(left, 0, room);
        let mut top = self.part(Rect {
            x: self.area.x.saturating_add(1),
            width: self.area.width.saturating_sub(2),
            ..self.area
        });
        if left.width() + right.width() < room {
            top.put_right(0, &right);
        }
        top.put(0, &left);
        self.part(inner)
    }

    /// Says in the middle of an empty pane what would fill it, and how.
    pub fn empty(&mut self, rows: &[Line<'static>]) {
        let top = self.height().saturating_sub(rows.len()) / 3;
        for (at, line) in rows.iter().enumerate() {
            let column = self.width().saturating_sub(line.width()) / 2;
            self.put_at(top + at, column, line);
        }
    }

    /// A message in rows of at most `width`; where `limit` of them are too few, it says so.
    pub fn wrapped(
        &self,
        role: Role,
        words: &str,
        width: usize,
        limit: usize,
    ) -> Vec<Line<'static>> {
        let ellipsis = self.app.ui.glyphs.ellipsis;
        let rows = text::wrap_cut(words, width, limit, ellipsis).into_iter();
        rows.map(|row| Line::from(self.span(role, row))).collect()
    }

    /// A message for the middle of an empty pane: its rows begin at one column.
    pub fn block(&self, role: Role, words: &str, limit: usize) -> Vec<Line<'static>> {
        let mut rows = self.wrapped(role, words, self.width().saturating_sub(4), limit);
        let widest = rows.iter().map(Line::width).max().unwrap_or(0);
        for row in &mut rows {
            let fill = widest - row.width();
            row.push_span(Span::raw(" ".repeat(fill)));
        }
        rows
    }

    pub fn dim(&self, text: impl Into<String>) -> Span<'static> {
        Span::styled(text.into(), self.style(Role::Dim))
    }

    pub fn span(&self, role: Role, text: impl Into<String>) -> Span<'static> {
        Span::styled(text.into(), self.style(role))
    }

    /// The key of an action, and what it does.
    pub fn key_hint(&self, action: Action, what: &str) -> Vec<Span<'static>> {
        self.hint(&self.app.ui.keymap.of(action), what)
    }

    /// `g grades`: a key and what it does.
    pub fn hint(&self, key: &str, what: &str) -> Vec<Span<'static>> {
        vec![self.span(Role::Key, key), self.dim(format!(" {what}"))]
    }
}
