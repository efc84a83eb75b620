//! Lines of a file with colours, the one that is told of marked.

use ratatui::text::{Line, Span};

use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::Canvas;

use super::state::SourceText;

/// Draws a file around a line; `begins`: where the function stands, which is kept in sight.
pub fn draw(
    canvas: &mut Canvas<'_>,
    source: &SourceText,
    mark: Option<usize>,
    begins: Option<usize>,
) {
    let height = canvas.height();
    let last = source.starts.len();
    let wanted = mark.or(begins).unwrap_or(1);
    let first = match begins {
        // the function from its head on, where the line is in sight then
        Some(head) if head <= wanted && wanted - head + 2 < height => head.saturating_sub(1),
        _ => wanted.saturating_sub(height / 2),
    };
    let first = first.min((last + 1).saturating_sub(height)).max(1);
    let digits = last.to_string().len().max(3);
    let cursor = canvas.app.ui.glyphs.cursor;
    let skip = canvas.app.cell.skip;
    for (at, number) in (first..=last).take(height).enumerate() {
        let Some(raw) = source.line(number) else {
            return;
        };
        let here = mark == Some(number);
        let sign = if here { cursor } else { " " };
        let mut line = vec![
            canvas.span(Role::Accent, format!("{sign} ")),
            canvas.span(Role::LineNo, format!("{number:>digits$} ")),
        ];
        let room = canvas.width().saturating_sub(digits + 3);
        let colours = source
            .colours
            .get(number - 1)
            .map_or(&[][..], Vec::as_slice);
        let plain = canvas.style(if here { Role::Strong } else { Role::Text });
        let style_of = |at: usize| {
            let own = colours
                .iter()
                .find(|(from, to, _)| (*from as usize..*to as usize).contains(&at));
            own.map_or(plain, |(_, _, role)| plain.patch(canvas.style(*role)))
        };
        let code: Vec<Span<'static>> =
            text::spans(&raw, skip + room, canvas.style(Role::Hidden), style_of);
        line.extend(text::window(code, skip, room).spans);
        canvas.put(at, &Line::from(line));
    }
}
