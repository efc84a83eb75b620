//! `infradev shell RUN|TASK …`: a shell in the sandbox of a case, or one command there.
//!
//! - `args`: as people type it
//! - `target`: from words to an order
//! - `person`: the half of it at the person's terminal
//! - `terminal`: raw mode, and the way back
//! - `line`: the one line that does it again

mod args;
mod line;
mod person;
mod target;
mod terminal;

pub use args::ShellArgs;

pub use line::line;
pub use person::{run, serve};
