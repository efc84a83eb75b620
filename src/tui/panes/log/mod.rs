//! The log pane: one entry after the other, only the visible rows built.

pub mod draw;
pub mod find;
pub mod level;
pub mod line;
pub mod long;
pub mod look;
pub mod parts;
pub mod rows;
pub mod scan;
pub mod scroll;
pub mod source;
pub mod state;
pub mod status;
pub mod title;

pub use source::LogSource;
pub use state::{Anchor, Goal, LogState};
