//! The terminal's life cycle: enter and leave, panics, signals, suspend, hang-ups.

mod guard;
mod screen;
mod signals;

pub use guard::restore;
pub use screen::Screen;
pub use signals::{Signal, Signals, hangup, suspend};
