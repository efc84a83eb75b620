//! The one place where state changes: a message in, effects out. No I/O and no clock here; the
//! loop sets [`super::state::App::now_s`] before each call.

mod agents;
mod answers;
mod author;
mod bulk;
mod copy;
mod diffs;
mod dispatch;
mod edits;
mod filters;
mod go;
mod gpus;
mod heat;
mod help;
mod keys;
mod log_keys;
mod log_scans;
mod logs;
mod mouse;
mod notes;
mod palette;
mod picks;
mod prompts;
mod runs;
mod scroll;
mod shells;
mod target;

pub use bulk::{can_cancel as can_cancel_marked, meant as marks_meant};
pub use copy::copied;
pub use dispatch::update;
pub use logs::has_earlier_log;
pub use target::retarget;
