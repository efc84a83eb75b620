//! Which files differ, which one is shown, and where in it.

use crate::tui::action::Action;
use crate::tui::backend::{FileChange, FilePair};
use crate::tui::state::Comparison;

#[derive(Clone, Debug, Default)]
pub struct DiffState {
    /// Base is the left side instead of gold.
    pub against_base: bool,
    pub unified: bool,
    /// What `files` belongs to.
    pub comparison: Option<Comparison>,
    pub files: Vec<FileChange>,
    pub loading: bool,
    pub error: Option<String>,
    pub selected: usize,
    pub file: Option<FilePair>,
    pub top: usize,
    pub skip: usize,
    pub search: String,
    /// A line of the right side to show once the file is here.
    pub goal: Option<u32>,
}

impl DiffState {
    pub fn clear(&mut self) {
        self.files.clear();
        self.selected = 0;
        self.error = None;
        self.loading = false;
        self.clear_file();
    }

    pub fn clear_file(&mut self) {
        self.file = None;
        self.error = None;
        self.top = 0;
        self.skip = 0;
    }

    pub fn take_files(&mut self, files: Vec<FileChange>) {
        self.files = files;
        self.selected = 0;
    }

    pub fn take_file(&mut self, pair: FilePair) {
        self.file = Some(pair);
        self.settle_goal();
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

    pub fn step_hunk(&mut self, _forward: bool) -> bool {
        false
    }

    pub fn toggle_fold(&mut self) {}

    pub fn scroll(&mut self, _action: Action, _page: usize) {}

    pub fn find_next(&mut self) -> bool {
        false
    }

    pub fn settle_goal(&mut self) {}
}
