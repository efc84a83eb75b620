//! The cases pane: both suites, gold beside the submission, and why the selected case failed; the
//! map of all submissions of the task.

pub mod draw;
pub mod filter;
pub mod heat;
pub mod heat_draw;
pub mod progress;
pub mod sides;
pub mod state;
pub mod title;
pub mod why;

pub use filter::Only;
pub use state::{CaseRow, CasesState, Mark, Why};
