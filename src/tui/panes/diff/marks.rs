//! What stands beside lines: notes of reviewers, frames of the selected case's traceback.

use crate::diff::Side;
use crate::domain::notes::LineNote;
use crate::tui::state::App;

use super::state::{Goal, Shown};

/// 0: left, 1: right.
pub fn index(side: Side) -> usize {
    match side {
        Side::Old => 0,
        Side::New => 1,
    }
}

/// Where a note goes, and the line's text.
pub struct Place {
    pub side: Side,
    pub path: String,
    pub line: u32,
    pub text: String,
}

impl Place {
    pub fn goal(self) -> Goal {
        Goal {
            side: self.side,
            path: self.path,
            line: self.line,
        }
    }
}

/// The place of the cursor; `None`: it is on no line.
pub fn here(app: &App) -> Option<Place> {
    let (side, line) = app.diff.line_at(app.diff.cursor)?;
    let at = index(side);
    let shown = app.diff.file.as_ref()?;
    let [old, new] = shown.lines(app.diff.cursor);
    let span = if side == Side::Old { old } else { new }?;
    let text = span.text(&shown.file.sides[at]);
    let text = text.get(..text.len().min(200)).unwrap_or_default();
    Some(Place {
        side,
        path: app.diff.entry()?.path_on(at).to_owned(),
        line,
        text: String::from_utf8_lossy(text).trim().to_owned(),
    })
}

/// The note on a line of a side.
pub fn note_on(app: &App, side: usize, line: u32) -> Option<&LineNote> {
    let source = app.diff.source_on(side)?;
    let path = app.diff.entry()?.path_on(side);
    let mut notes = app.diff.notes.notes.iter();
    notes.find(|note| note.line == line && note.path == path && note.tree == *source)
}

/// The note on the cursor's line.
pub fn note_here(app: &App) -> Option<&LineNote> {
    let (side, line) = app.diff.line_at(app.diff.cursor)?;
    note_on(app, index(side), line)
}

/// The innermost frame of the selected case's traceback that names a line of a side.
pub fn frame_on(app: &App, side: usize, line: u32) -> Option<usize> {
    let why = app.cases.why.as_ref()?;
    if app.diff.source_on(side) != app.target.source.as_ref() {
        return None;
    }
    let path = app.diff.entry()?.path_on(side);
    why.frames
        .iter()
        .rposition(|frame| frame.line == line && frame.path == path)
}

/// The first row of the screen's file that is a line, for what begins with what is seen.
pub fn first_seen(shown: &Shown, top: usize) -> [usize; 2] {
    let mut seen = [0, 0];
    for (side, first) in seen.iter_mut().enumerate() {
        let mut rows = (top..shown.rows.len()).map(|row| shown.lines(row)[side]);
        if let Some(span) = rows.find_map(|span| span) {
            *first = span.no.saturating_sub(1) as usize;
        }
    }
    seen
}
