//! Which files differ, which one is shown, and where in it.

use std::sync::Arc;

use crate::diff::{DiffOptions, FileDiff, Layout, Row, Rows, Side};
use crate::tui::action::Action;
use crate::tui::backend::{FileChange, FilePair};
use crate::tui::highlight::{Colour, Piece};
use crate::tui::state::Comparison;

/// Unchanged lines shown around a change.
pub const CONTEXT: u32 = 3;

/// Two sides beside each other need this many columns; below, one stands under the other.
pub const WIDE: usize = 92;

/// Both sides of a file, compared. Made on a worker thread.
#[derive(Clone, Debug)]
pub struct DiffFile {
    /// Left and right; empty where the tree does not have the file.
    pub sides: [Arc<Vec<u8>>; 2],
    pub has: [bool; 2],
    pub diff: FileDiff,
}

impl DiffFile {
    pub fn new(pair: FilePair) -> Self {
        let diff = FileDiff::new(
            pair.left.as_deref(),
            pair.right.as_deref(),
            DiffOptions::default(),
        );
        let has = [pair.left.is_some(), pair.right.is_some()];
        Self {
            sides: [pair.left, pair.right].map(|side| Arc::new(side.unwrap_or_default())),
            has,
            diff,
        }
    }
}

/// The file on the screen.
#[derive(Clone, Debug)]
pub struct Shown {
    pub file: DiffFile,
    pub rows: Rows,
    /// Colours of each side's lines, as far as they have come.
    pub colours: [Vec<Vec<Colour>>; 2],
}

#[derive(Clone, Debug, Default)]
pub struct DiffState {
    /// Base is the left side instead of gold.
    pub against_base: bool,
    pub unified: bool,
    /// The reader chose the view; else the pane's width does.
    pub view_chosen: bool,
    /// Unchanged lines are shown.
    pub unfolded: bool,
    /// What `files` belongs to.
    pub comparison: Option<Comparison>,
    pub files: Vec<FileChange>,
    pub loading: bool,
    /// The files are asked for once there is a patch.
    pub awaits: bool,
    pub error: Option<String>,
    pub selected: usize,
    pub file: Option<Shown>,
    /// Names the file whose colours are wanted.
    pub ticket: u64,
    pub top: usize,
    pub skip: usize,
    pub search: String,
    /// A line of the right side to show once the file is here.
    pub goal: Option<u32>,
    /// The line of the right side that a jump went to.
    pub marked: Option<u32>,
}

impl DiffState {
    pub fn clear(&mut self) {
        self.files.clear();
        self.selected = 0;
        self.loading = false;
        self.awaits = false;
        self.clear_file();
    }

    pub fn clear_file(&mut self) {
        self.file = None;
        self.error = None;
        self.top = 0;
        self.skip = 0;
        self.marked = None;
    }

    pub fn take_files(&mut self, files: Vec<FileChange>) {
        self.files = files;
        self.selected = 0;
    }

    fn layout(&self) -> Layout {
        if self.unified {
            Layout::Unified
        } else {
            Layout::SideBySide
        }
    }

    fn context(&self) -> u32 {
        if self.unfolded { u32::MAX } else { CONTEXT }
    }

    pub fn take_file(&mut self, file: DiffFile) {
        let rows = Rows::new(&file.diff, self.layout(), self.context());
        self.top = rows.hunks().first().map_or(0, |row| row.saturating_sub(3));
        self.file = Some(Shown {
            file,
            rows,
            colours: [Vec::new(), Vec::new()],
        });
        self.ticket += 1;
        self.settle_goal();
    }

    pub fn take_colours(&mut self, piece: Piece) {
        if piece.ticket != self.ticket {
            return;
        }
        if let Some(shown) = &mut self.file
            && let Some(lines) = shown.colours.get_mut(piece.side)
            && lines.len() == piece.from
        {
            lines.extend(piece.lines);
        }
    }

    pub fn step_file(&mut self, forward: bool) -> bool {
        let last = self.files.len().saturating_sub(1);
        let to = if forward {
            (self.selected + 1).min(last)
        } else {
            self.selected.saturating_sub(1)
        };
        std::mem::replace(&mut self.selected, to) != to
    }

    /// Index of the change at or before the top of the screen, from 1, and how many there are.
    pub fn hunk(&self) -> (usize, usize) {
        let Some(shown) = &self.file else {
            return (0, 0);
        };
        let hunks = shown.rows.hunks();
        let at = hunks.partition_point(|row| *row <= self.top + 3);
        (at.max(usize::from(!hunks.is_empty())), hunks.len())
    }

    pub fn step_hunk(&mut self, forward: bool) -> bool {
        let Some(shown) = &self.file else {
            return false;
        };
        let hunks = shown.rows.hunks();
        let here = self.top + 3;
        let found = if forward {
            hunks.iter().find(|row| **row > here)
        } else {
            hunks
                .iter()
                .rev()
                .find(|row| **row < here.min(self.top + 3))
        };
        match found {
            Some(row) => {
                self.top = row.saturating_sub(3);
                // the first change may stand above the third row
                true
            }
            None => false,
        }
    }

    /// Keeps the first shown line in place while rows are made anew.
    fn keep_place(&mut self, change: impl FnOnce(&mut Shown)) {
        let Some(shown) = &mut self.file else { return };
        let line = (self.top..shown.rows.len()).find_map(|row| {
            match shown.rows.row(&shown.file.diff, row) {
                Some(Row::Line { old, new, .. }) => new
                    .map(|span| (Side::New, span.no))
                    .or(old.map(|span| (Side::Old, span.no))),
                _ => None,
            }
        });
        change(shown);
        self.top = line
            .and_then(|(side, no)| shown.rows.row_of(&shown.file.diff, side, no))
            .unwrap_or(0);
    }

    pub fn toggle_view(&mut self) {
        self.view_chosen = true;
        self.set_unified(!self.unified);
    }

    /// Takes the view that fits a pane of so many columns, unless one was chosen.
    pub fn fit(&mut self, columns: usize) {
        let unified = columns < WIDE;
        if !self.view_chosen && unified != self.unified {
            self.set_unified(unified);
        }
    }

    fn set_unified(&mut self, unified: bool) {
        self.unified = unified;
        let layout = self.layout();
        self.keep_place(|shown| shown.rows.set_layout(&shown.file.diff, layout));
    }

    pub fn toggle_fold(&mut self) {
        self.unfolded = !self.unfolded;
        let context = self.context();
        self.keep_place(|shown| shown.rows.set_context(&shown.file.diff, context));
    }

    pub fn scroll(&mut self, action: Action, page: usize) {
        let rows = self.file.as_ref().map_or(0, |shown| shown.rows.len());
        // a few rows stay in sight at the end
        let last = rows.saturating_sub(page.saturating_sub(2).max(1));
        self.top = match action {
            Action::Up => self.top.saturating_sub(1),
            Action::Down => (self.top + 1).min(last),
            Action::PageUp => self.top.saturating_sub(page.max(2) - 1),
            Action::PageDown => (self.top + page.max(2) - 1).min(last),
            Action::Top => 0,
            Action::Bottom => last,
            _ => self.top,
        };
    }

    /// Goes to the next row that holds the search, round the end.
    pub fn find_next(&mut self) -> bool {
        let Some(shown) = &self.file else {
            return false;
        };
        let needle = self.search.to_lowercase();
        let rows = shown.rows.len();
        let holds = |row: usize| {
            let Some(Row::Line { old, new, .. }) = shown.rows.row(&shown.file.diff, row) else {
                return false;
            };
            [(old, 0), (new, 1)].into_iter().any(|(span, side)| {
                span.is_some_and(|span| {
                    String::from_utf8_lossy(span.text(&shown.file.sides[side]))
                        .to_lowercase()
                        .contains(&needle)
                })
            })
        };
        let found = (1..=rows)
            .map(|step| (self.top + 1 + step) % rows.max(1))
            .find(|row| holds(*row));
        if let Some(row) = found {
            self.top = row.saturating_sub(2);
        }
        found.is_some()
    }

    /// Shows the line that was asked for, opening the fold around it.
    pub fn settle_goal(&mut self) {
        let Some(shown) = &mut self.file else { return };
        let Some(line) = self.goal.take() else { return };
        if let Some(row) = shown.rows.reveal(&shown.file.diff, Side::New, line) {
            self.top = row.saturating_sub(6);
            self.marked = Some(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown() -> DiffState {
        let lines: Vec<String> = (1..=200).map(|n| format!("line {n}")).collect();
        let left = lines.join("\n") + "\n";
        let right = left
            .replace("line 50\n", "line fifty\n")
            .replace("line 150\n", "more\nline 150\n");
        let mut state = DiffState::default();
        state.take_file(DiffFile::new(FilePair {
            left: Some(left.into_bytes()),
            right: Some(right.into_bytes()),
        }));
        state
    }

    #[test]
    fn changes_are_reached_both_ways() {
        let mut state = shown();
        assert_eq!(state.hunk(), (1, 2));
        assert!(state.step_hunk(true));
        assert_eq!(state.hunk(), (2, 2));
        assert!(!state.step_hunk(true));
        assert!(state.step_hunk(false));
        assert_eq!(state.hunk(), (1, 2));
    }

    #[test]
    fn a_jump_opens_the_fold_around_its_line_and_views_keep_the_place() {
        let mut state = shown();
        state.goal = Some(100);
        state.settle_goal();
        assert_eq!(state.marked, Some(100));
        let line_at_top = |state: &DiffState| {
            let shown = state.file.as_ref()?;
            match shown.rows.row(&shown.file.diff, state.top)? {
                Row::Line { new, .. } => new.map(|span| span.no),
                _ => None,
            }
        };
        state.scroll(Action::Down, 10);
        let before = line_at_top(&state);
        state.toggle_view();
        assert_eq!(line_at_top(&state), before);
        state.toggle_fold();
        assert_eq!(line_at_top(&state), before);
    }

    #[test]
    fn search_goes_round_the_end() {
        let mut state = shown();
        state.search = "FIFTY".into();
        state.scroll(Action::Bottom, 10);
        assert!(state.find_next());
        state.search = "nowhere".into();
        assert!(!state.find_next());
    }
}
