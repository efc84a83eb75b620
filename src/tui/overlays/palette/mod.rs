//! The palette: what can be done now, and what there is to go to, found by a few letters.

pub mod draw;
pub mod state;

pub use state::{Goal, Item, Palette};
