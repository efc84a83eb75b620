//! What stands where in the pane.

use ratatui::layout::Rect;

use crate::tui::layout::{split_left, split_top};
use crate::tui::state::App;

use super::files::list_rows;
use super::state::{DiffState, Shown};

/// A list beside the file needs a pane of so many columns.
const BESIDE: u16 = 124;

pub struct Areas {
    pub list: Option<Rect>,
    pub beside: bool,
    pub file: Rect,
}

/// The list and the file, in a pane's inside.
pub fn areas(diff: &DiffState, area: Rect) -> Areas {
    let rows = list_rows(diff).len();
    let (list, file, beside) = if diff.files.len() > 1 && area.width >= BESIDE {
        // names of parts are longer than they look
        let width = if area.width >= 150 { 44 } else { 32 };
        let (list, rest) = split_left(area, width);
        (Some(list), rest, true)
    } else if diff.files.len() > 1 && area.height >= 18 {
        let (list, rest) = split_top(
            area,
            rows.min(usize::from(area.height / 4).max(5)) as u16 + 1,
        );
        (Some(list), rest, false)
    } else {
        (None, area, false)
    };
    Areas { list, beside, file }
}

/// Rows above the lines of a file: what is to be said of it, and the names of the sides.
pub fn head_rows(diff: &DiffState, shown: &Shown) -> usize {
    let renamed = diff.entry().is_some_and(|e| e.old_path.is_some());
    let sides = usize::from(!diff.unified || diff.entry().is_some_and(|e| e.part.is_some()));
    shown.file.diff.notices.len() + sides + usize::from(renamed && sides == 0)
}

/// Rows that the lines of the file have, in a pane's inside.
pub fn page(app: &App, area: Rect) -> usize {
    let Some(shown) = &app.diff.file else {
        return usize::from(area.height);
    };
    let height = usize::from(areas(&app.diff, area).file.height);
    let foot = usize::from(super::marks::note_here(app).is_some());
    height.saturating_sub(head_rows(&app.diff, shown) + foot)
}
