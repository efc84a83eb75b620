//! What is compared, which files or parts differ, which one is shown.

use std::sync::Arc;

use crate::diff::{DiffOptions, FileDiff, Layout, Notice, Rows, Side};
use crate::domain::notes::Notes;
use crate::domain::{RunId, Source};
use crate::tui::backend::FilePair;
use crate::tui::highlight::{Colour, Piece};
use crate::tui::state::Comparison;

use super::entries::{By, Entry, Listed, Trees};

/// Unchanged lines shown around a change.
pub const CONTEXT: u32 = 3;

/// Two sides beside each other need this many columns; below, one stands under the other.
pub const WIDE: usize = 92;

/// What the selected solution is compared with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Against {
    #[default]
    Gold,
    Base,
    /// What is selected stands aside: gold's own change is shown.
    GoldAndBase,
    /// Another solution of a task.
    Other(String, Source),
}

/// Both sides of a file, compared. Made on a worker thread.
#[derive(Clone, Debug)]
pub struct DiffFile {
    /// Left and right; empty where the tree does not have the file.
    pub sides: [Arc<Vec<u8>>; 2],
    pub has: [bool; 2],
    pub diff: FileDiff,
    pub options: DiffOptions,
}

impl DiffFile {
    pub fn new(pair: FilePair) -> Self {
        Self::with(pair, DiffOptions::default(), None)
    }

    /// `modes`: of both sides, where they differ.
    pub fn with(pair: FilePair, options: DiffOptions, modes: Option<[u32; 2]>) -> Self {
        let mut diff = FileDiff::new(pair.left.as_deref(), pair.right.as_deref(), options);
        if let Some([old, new]) = modes {
            diff.notices.insert(0, Notice::Mode { old, new });
        }
        let has = [pair.left.is_some(), pair.right.is_some()];
        Self {
            sides: [pair.left, pair.right].map(|side| Arc::new(side.unwrap_or_default())),
            has,
            diff,
            options,
        }
    }

    /// A part of a file beside what stands for it.
    pub fn of_part(trees: &Trees, entry: &Entry, options: DiffOptions) -> Self {
        let pair = entry.part.as_ref().map(|part| part.pair);
        let old = trees.part(0, pair.and_then(|pair| pair.left));
        let new = trees.part(1, pair.and_then(|pair| pair.right));
        let text = |part: Option<(&crate::diff::align::SourceFile, usize)>| {
            part.map(|(file, _)| Arc::clone(&file.text))
                .unwrap_or_default()
        };
        Self {
            sides: [text(old), text(new)],
            has: [old.is_some(), new.is_some()],
            diff: crate::diff::align::SourceFile::diff(old, new, options),
            options,
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

/// A line to show once its file is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    pub side: Side,
    pub path: String,
    pub line: u32,
}

#[derive(Clone, Debug)]
pub struct DiffState {
    pub against: Against,
    pub by: By,
    pub options: DiffOptions,
    pub unified: bool,
    /// The reader chose the view; else the pane's width does.
    pub view_chosen: bool,
    /// All unchanged lines are shown.
    pub unfolded: bool,
    /// Unchanged lines around a change, otherwise.
    pub around: u32,
    /// What `files` belongs to.
    pub comparison: Option<Comparison>,
    pub files: Vec<Entry>,
    /// What parts among them are parts of.
    pub trees: Arc<Trees>,
    pub loading: bool,
    /// The files are asked for once there is a patch.
    pub awaits: bool,
    pub error: Option<String>,
    pub selected: usize,
    pub file: Option<Shown>,
    /// Names the file whose colours are wanted.
    pub ticket: u64,
    /// First row on the screen, and the reader's.
    pub top: usize,
    pub cursor: usize,
    /// Rows that the screen has for the file.
    pub page: usize,
    pub skip: usize,
    pub search: String,
    pub goal: Option<Goal>,
    /// The line of the right side that a jump went to.
    pub marked: Option<u32>,
    /// What reviewers wrote beside lines, and the run that it belongs to.
    pub notes: Notes,
    pub notes_of: Option<RunId>,
}

impl Default for DiffState {
    fn default() -> Self {
        Self {
            against: Against::default(),
            by: By::default(),
            options: DiffOptions::default(),
            unified: false,
            view_chosen: false,
            unfolded: false,
            around: CONTEXT,
            comparison: None,
            files: Vec::new(),
            trees: Arc::default(),
            loading: false,
            awaits: false,
            error: None,
            selected: 0,
            file: None,
            ticket: 0,
            top: 0,
            cursor: 0,
            page: 20,
            skip: 0,
            search: String::new(),
            goal: None,
            marked: None,
            notes: Notes::default(),
            notes_of: None,
        }
    }
}

/// Base, then gold, then everybody's: the one before stands left.
fn rank(source: &Source) -> u8 {
    match source {
        Source::Base => 0,
        Source::Gold => 1,
        Source::Submission { .. } | Source::Patch { .. } | Source::Agent { .. } => 2,
    }
}

impl DiffState {
    /// What is compared while a solution of a task is selected.
    pub fn wanted(&self, task: &str, subject: &Source) -> Comparison {
        let other = match &self.against {
            Against::Other(of, source) if of == task && source != subject => source.clone(),
            Against::Base if *subject != Source::Base => Source::Base,
            // gold against itself says nothing
            _ if *subject == Source::Gold => Source::Base,
            _ => Source::Gold,
        };
        let (left, right) = if self.against == Against::GoldAndBase {
            (Source::Base, Source::Gold)
        } else if rank(&other) <= rank(subject) {
            (other, subject.clone())
        } else {
            (subject.clone(), other)
        };
        Comparison {
            task: task.to_owned(),
            left,
            right,
            subject: subject.clone(),
            by: self.by,
        }
    }

    /// The next of the comparisons that need no choice.
    pub fn next_against(&mut self, subject: &Source) {
        self.against = match self.against {
            Against::Gold if *subject == Source::Gold => Against::Base,
            Against::Gold | Against::Other(..) if *subject != Source::Base => Against::Base,
            Against::Base if *subject != Source::Gold => Against::GoldAndBase,
            _ => Against::Gold,
        };
    }

    pub fn clear(&mut self) {
        self.files.clear();
        self.trees = Arc::default();
        self.selected = 0;
        self.loading = false;
        self.awaits = false;
        self.clear_file();
    }

    pub fn clear_file(&mut self) {
        self.file = None;
        self.error = None;
        self.top = 0;
        self.cursor = 0;
        self.skip = 0;
        self.marked = None;
    }

    pub fn entry(&self) -> Option<&Entry> {
        self.files.get(self.selected)
    }

    pub fn take_files(&mut self, listed: Listed) {
        self.files = listed.entries;
        self.trees = listed.trees;
        self.selected = 0;
        if let Some(goal) = &self.goal {
            let at = self.files.iter().position(|e| e.holds(goal));
            match at {
                Some(at) => self.selected = at,
                None => self.goal = None,
            }
        }
    }

    pub fn layout(&self) -> Layout {
        if self.unified {
            Layout::Unified
        } else {
            Layout::SideBySide
        }
    }

    pub fn context(&self) -> u32 {
        if self.unfolded { u32::MAX } else { self.around }
    }

    pub fn take_file(&mut self, file: DiffFile) {
        let again = self.file.is_some();
        let line = if again {
            self.line_at(self.cursor)
        } else {
            None
        };
        let rows = Rows::new(&file.diff, self.layout(), self.context());
        let first = rows.hunks().first().copied().unwrap_or(0);
        let kept = line.and_then(|(side, no)| rows.row_of(&file.diff, side, no));
        self.cursor = kept.unwrap_or(first);
        self.top = self.cursor.saturating_sub(3);
        self.file = Some(Shown {
            file,
            rows,
            colours: [Vec::new(), Vec::new()],
        });
        self.ticket += 1;
        self.settle_goal();
    }

    /// Pieces come in any order: what is on the screen comes first, and again.
    pub fn take_colours(&mut self, piece: Piece) {
        if piece.ticket != self.ticket {
            return;
        }
        if let Some(shown) = &mut self.file
            && let Some(lines) = shown.colours.get_mut(piece.side)
        {
            let end = piece.from + piece.lines.len();
            if lines.len() < end {
                lines.resize_with(end, Vec::new);
            }
            for (line, colours) in lines.iter_mut().skip(piece.from).zip(piece.lines) {
                *line = colours;
            }
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

    /// The source whose tree a side is of.
    pub fn source_on(&self, side: usize) -> Option<&Source> {
        let comparison = self.comparison.as_ref()?;
        Some(if side == 0 {
            &comparison.left
        } else {
            &comparison.right
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hand() -> Source {
        Source::Submission {
            name: "hand".into(),
        }
    }

    #[test]
    fn base_stands_left_of_gold_and_gold_left_of_everybody() {
        let mut state = DiffState::default();
        let sides = |state: &DiffState, subject: &Source| {
            let c = state.wanted("t", subject);
            (c.left.label(), c.right.label())
        };
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(sides(&state, &hand()), pair("gold", "hand"));
        assert_eq!(sides(&state, &Source::Gold), pair("base", "gold"));
        assert_eq!(sides(&state, &Source::Base), pair("base", "gold"));
        state.next_against(&hand());
        assert_eq!(sides(&state, &hand()), pair("base", "hand"));
        state.next_against(&hand());
        assert_eq!(sides(&state, &hand()), pair("base", "gold"));
        let wanted = state.wanted("t", &hand());
        assert_eq!(wanted.marked(), Some([&Source::Gold, &hand()]));
        state.next_against(&hand());
        assert_eq!(state.against, Against::Gold);
        let other = Source::Submission { name: "glm".into() };
        state.against = Against::Other("t".into(), other.clone());
        assert_eq!(sides(&state, &hand()), pair("glm", "hand"));
        assert_eq!(sides(&state, &other), pair("gold", "glm"));
        let elsewhere = state.wanted("u", &hand());
        assert_eq!(elsewhere.left, Source::Gold, "of another task");
        state.against = Against::Other("t".into(), hand());
        assert_eq!(sides(&state, &Source::Gold), pair("gold", "hand"));
    }
}
