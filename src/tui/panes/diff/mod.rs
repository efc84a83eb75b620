//! The diff pane: a submission beside gold, or beside base.

pub mod draw;
pub mod line;
pub mod state;

pub use state::DiffState;
