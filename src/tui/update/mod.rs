//! The one place where state changes: a message in, effects out. No I/O and no clock here; the
//! loop sets [`super::state::App::now_s`] before each call.

mod agents;
mod answers;
mod diffs;
mod dispatch;
mod keys;
mod logs;
mod prompts;
mod scroll;
mod target;

pub use dispatch::update;
pub use target::retarget;
