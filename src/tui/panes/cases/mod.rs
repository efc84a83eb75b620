//! The cases pane: both suites, gold beside the submission, and why the selected case failed.

pub mod draw;
pub mod state;
pub mod why;

pub use state::{CaseRow, CasesState, Mark, Why};
