//! A rectangle in two.

use ratatui::layout::Rect;

/// The first `rows` and what is left below.
pub fn split_top(area: Rect, rows: u16) -> (Rect, Rect) {
    let rows = rows.min(area.height);
    let top = Rect {
        height: rows,
        ..area
    };
    let rest = Rect {
        y: area.y.saturating_add(rows),
        height: area.height - rows,
        ..area
    };
    (top, rest)
}

/// What is left above, and the last `rows`.
pub fn split_bottom(area: Rect, rows: u16) -> (Rect, Rect) {
    split_top(area, area.height.saturating_sub(rows))
}

/// The first `columns` and what is left beside.
pub fn split_left(area: Rect, columns: u16) -> (Rect, Rect) {
    let columns = columns.min(area.width);
    let left = Rect {
        width: columns,
        ..area
    };
    let rest = Rect {
        x: area.x.saturating_add(columns),
        width: area.width - columns,
        ..area
    };
    (left, rest)
}
