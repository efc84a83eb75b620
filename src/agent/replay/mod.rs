//! A recorded run, played again: its log as it came, and its changes as it goes on.
//!
//! - [`recording`]: the folder that a sandbox is given
//! - [`play`]: `infradev __replay`, the process inside

mod play;
mod recording;

pub use play::replay_main;
pub use recording::{Change, Content, DEFAULT_RATE, LOG, Recording};
