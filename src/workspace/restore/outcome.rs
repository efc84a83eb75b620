//! What was put back, for the journal and the reviewer.

use std::path::PathBuf;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    Removed,
    Restored,
    SectionRestored,
}

impl Action {
    pub fn name(self) -> &'static str {
        match self {
            Action::Removed => "removed",
            Action::Restored => "restored",
            Action::SectionRestored => "section restored",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Relative to the work tree.
    pub path: PathBuf,
    pub action: Action,
    pub why: String,
}
