//! The diff pane: two of base, gold and whatever was made of base, beside each other by path or
//! part by part; notes on lines.

pub mod draw;
pub mod entries;
pub mod files;
pub mod geometry;
pub mod line;
pub mod load;
pub mod marks;
pub mod rows;
pub mod state;
pub mod view;

pub use state::DiffState;
