//! The log pane: one entry after the other, only the visible rows built.

pub mod draw;
pub mod rows;
pub mod scroll;
pub mod state;
pub mod status;

pub use state::{Anchor, LogSource, LogState};
