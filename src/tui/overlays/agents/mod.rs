//! Choosing an agent to run: which one, how long, with which prompt, and what `replay` replays.

pub mod draw;
pub mod state;

pub use state::{Answered, Chooser, Step};
