//! Where the reader is in the file: rows, changes, folds, search.

use std::ops::Range;

use crate::diff::{Open, Row, Side};
use crate::tui::action::Action;

use super::state::{DiffState, Shown, WIDE};

/// Rows kept in sight above and below the cursor.
const MARGIN: usize = 3;

/// Steps of the context around changes.
const AROUND: [u32; 8] = [0, 1, 3, 6, 12, 25, 50, 100];

/// Where a line holds the words, in any case of ASCII letters.
pub fn find_in(line: &[u8], words: &str) -> Vec<Range<u32>> {
    let words = words.as_bytes();
    let Some(first) = words.first() else {
        return Vec::new();
    };
    let (low, high) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
    let mut found: Vec<Range<u32>> = Vec::new();
    let mut from = 0;
    for at in memchr::memchr2_iter(low, high, line) {
        let end = at + words.len();
        let here = line.get(at..end);
        if at >= from && here.is_some_and(|here| here.eq_ignore_ascii_case(words)) {
            found.push(at as u32..end as u32);
            from = end;
        }
    }
    found
}

impl Shown {
    /// The lines of a row, by side.
    pub fn lines(&self, row: usize) -> [Option<crate::diff::Span>; 2] {
        match self.rows.row(&self.file.diff, row) {
            Some(Row::Line { old, new, .. }) => [old, new],
            _ => [None, None],
        }
    }

    fn holds(&self, row: usize, words: &str) -> bool {
        let mut sides = self.lines(row).into_iter().zip(&self.file.sides);
        sides.any(|(span, text)| {
            span.is_some_and(|span| !find_in(span.text(text), words).is_empty())
        })
    }
}

impl DiffState {
    /// The line that a row is of: the right one where there is one.
    pub fn line_at(&self, row: usize) -> Option<(Side, u32)> {
        let [old, new] = self.file.as_ref()?.lines(row);
        new.map(|span| (Side::New, span.no))
            .or(old.map(|span| (Side::Old, span.no)))
    }

    /// Index of the change at or before the cursor, from 1, and how many there are.
    pub fn hunk(&self) -> (usize, usize) {
        let Some(shown) = &self.file else {
            return (0, 0);
        };
        let hunks = shown.rows.hunks();
        let at = hunks.partition_point(|row| *row <= self.cursor);
        (at.max(usize::from(!hunks.is_empty())), hunks.len())
    }

    pub fn step_hunk(&mut self, forward: bool) -> bool {
        let Some(shown) = &self.file else {
            return false;
        };
        let hunks = shown.rows.hunks();
        let found = if forward {
            hunks.iter().find(|row| **row > self.cursor)
        } else {
            hunks.iter().rev().find(|row| **row < self.cursor)
        };
        found.copied().map(|row| self.go_to(row)).is_some()
    }

    /// The row, with what stands above it.
    fn go_to(&mut self, row: usize) {
        self.cursor = row;
        let seen = row >= self.top + MARGIN && row + self.page / 2 < self.top + self.page;
        if !seen {
            self.top = row.saturating_sub(MARGIN);
        }
    }

    /// Keeps the reader's line in place while rows are made anew.
    fn keep_place(&mut self, change: impl FnOnce(&mut Shown)) {
        let above = self.cursor.saturating_sub(self.top);
        let rows = self.file.as_ref().map_or(0, |shown| shown.rows.len());
        // in a fold, the line after it
        let line = (self.cursor..rows).find_map(|row| self.line_at(row));
        let Some(shown) = &mut self.file else { return };
        change(shown);
        self.cursor = line
            .and_then(|(side, no)| shown.rows.row_of(&shown.file.diff, side, no))
            .unwrap_or(0);
        self.top = self.cursor.saturating_sub(above);
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
        self.set_context();
    }

    fn set_context(&mut self) {
        let context = self.context();
        self.keep_place(|shown| shown.rows.set_context(&shown.file.diff, context));
    }

    /// More or fewer unchanged lines around changes; returns how many there are then.
    pub fn grow(&mut self, more: bool) -> u32 {
        let mut steps = AROUND.into_iter();
        let next = if more {
            steps.find(|step| *step > self.around)
        } else {
            steps.rev().find(|step| *step < self.around)
        };
        self.around = next.unwrap_or(self.around);
        self.unfolded = false;
        self.set_context();
        self.around
    }

    /// Opens the fold under the cursor; `false`: there is none.
    pub fn open_fold(&mut self) -> bool {
        let Some(shown) = &mut self.file else {
            return false;
        };
        match shown.rows.row(&shown.file.diff, self.cursor) {
            Some(Row::Fold { gap, .. }) => shown.rows.open(&shown.file.diff, gap, Open::All),
            _ => false,
        }
    }

    pub fn scroll(&mut self, action: Action) {
        let rows = self.file.as_ref().map_or(0, |shown| shown.rows.len());
        let last = rows.saturating_sub(1);
        let page = self.page.max(2) - 1;
        match action {
            Action::Up => self.cursor = self.cursor.saturating_sub(1),
            Action::Down => self.cursor = (self.cursor + 1).min(last),
            Action::PageUp => {
                self.cursor = self.cursor.saturating_sub(page);
                self.top = self.top.saturating_sub(page);
            }
            Action::PageDown => {
                self.cursor = (self.cursor + page).min(last);
                self.top = (self.top + page).min(last);
            }
            Action::Top => self.cursor = 0,
            Action::Bottom => self.cursor = last,
            _ => {}
        }
    }

    /// Keeps the cursor in sight on a screen of so many rows.
    pub fn settle(&mut self, page: usize) {
        self.page = page.max(1);
        let rows = self.file.as_ref().map_or(0, |shown| shown.rows.len());
        self.cursor = self.cursor.min(rows.saturating_sub(1));
        let margin = MARGIN.min(self.page.saturating_sub(1) / 2);
        let lowest = (self.cursor + margin + 1).saturating_sub(self.page);
        self.top = self
            .top
            .min(rows.saturating_sub(self.page))
            .min(self.cursor.saturating_sub(margin))
            .max(lowest.min(rows.saturating_sub(self.page)));
    }

    /// Goes to the next row that holds the search, round the end.
    pub fn find_next(&mut self) -> bool {
        self.find(true)
    }

    pub fn find(&mut self, forward: bool) -> bool {
        let Some(shown) = &self.file else {
            return false;
        };
        let rows = shown.rows.len();
        let step = |by: usize| {
            let by = if forward { by } else { rows - by };
            (self.cursor + by) % rows.max(1)
        };
        let found = (1..=rows)
            .map(step)
            .find(|row| shown.holds(*row, &self.search));
        if let Some(row) = found {
            self.go_to(row);
        }
        found.is_some()
    }

    /// Shows the line that was asked for, opening the fold around it.
    pub fn settle_goal(&mut self) {
        let Some(shown) = &mut self.file else { return };
        let Some(goal) = self.goal.take() else { return };
        if let Some(row) = shown.rows.reveal(&shown.file.diff, goal.side, goal.line) {
            self.cursor = row;
            self.top = row.saturating_sub(6);
            self.marked = (goal.side == Side::New).then_some(goal.line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::{DiffFile, Goal};
    use super::*;
    use crate::tui::backend::FilePair;

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

    fn line(state: &DiffState) -> Option<u32> {
        state.line_at(state.cursor).map(|(_, no)| no)
    }

    #[test]
    fn changes_are_reached_both_ways() {
        let mut state = shown();
        assert_eq!((state.hunk(), line(&state)), ((1, 2), Some(50)));
        assert!(state.step_hunk(true));
        assert_eq!((state.hunk(), line(&state)), ((2, 2), Some(150)));
        assert!(!state.step_hunk(true));
        assert!(state.step_hunk(false));
        assert_eq!(state.hunk(), (1, 2));
    }

    #[test]
    fn a_jump_opens_the_fold_around_its_line_and_views_keep_the_place() {
        let mut state = shown();
        state.goal = Some(Goal {
            side: Side::New,
            path: "a".into(),
            line: 100,
        });
        state.settle_goal();
        assert_eq!((state.marked, line(&state)), (Some(100), Some(100)));
        state.scroll(Action::Down);
        state.toggle_view();
        assert_eq!(line(&state), Some(101));
        state.toggle_fold();
        assert_eq!(line(&state), Some(101));
    }

    #[test]
    fn context_grows_and_one_fold_opens() {
        let mut state = shown();
        let rows = |state: &DiffState| state.file.as_ref().map_or(0, |s| s.rows.len());
        let before = rows(&state);
        assert_eq!(state.grow(true), 6);
        assert_eq!(rows(&state), before + 12);
        assert_eq!(state.grow(false), 3);
        assert!(!state.open_fold(), "on a line");
        state.scroll(Action::Top);
        assert!(state.open_fold());
        assert_eq!(line(&state), Some(1));
        assert_eq!(rows(&state), before + 45);
    }

    #[test]
    fn the_cursor_stays_in_sight() {
        let mut state = shown();
        state.toggle_fold();
        for action in [Action::Bottom, Action::Top, Action::PageDown, Action::Up] {
            state.scroll(action);
            for page in [1, 2, 7, 40, 500] {
                state.settle(page);
                let seen = state.top..state.top + page;
                assert!(seen.contains(&state.cursor), "{action:?} {page}");
            }
        }
    }

    #[test]
    fn search_goes_round_both_ends() {
        let mut state = shown();
        state.search = "FIFTY".into();
        state.scroll(Action::Bottom);
        assert!(state.find_next());
        assert_eq!(line(&state), Some(50));
        state.search = "line 15".into();
        assert!(state.find(false));
        assert_eq!(line(&state), Some(154 - 1));
        state.search = "nowhere".into();
        assert!(!state.find_next());
    }

    #[test]
    fn words_are_found_in_any_case_and_apart() {
        let spans = |line: &str, words: &str| -> Vec<(u32, u32)> {
            let found = find_in(line.as_bytes(), words).into_iter();
            found.map(|r| (r.start, r.end)).collect()
        };
        assert_eq!(spans("aAaA b", "aa"), [(0, 2), (2, 4)]);
        assert_eq!(spans("grün GRüN", "grü"), [(0, 4), (6, 10)]);
        assert_eq!(spans("x", ""), []);
    }
}
