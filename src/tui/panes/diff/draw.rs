//! Both sides of a file.

use ratatui::text::Line;

use crate::tui::layout::PaneKind;
use crate::tui::widgets::{Canvas, Title};

pub fn draw(canvas: &mut Canvas<'_>) {
    let mut inner = canvas.pane(PaneKind::Diff, Title::default());
    let rows = [Line::from(inner.dim("soon"))];
    inner.empty(&rows);
}
