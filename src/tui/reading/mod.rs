//! The shown log, read on the blocking pool: entries, when they came, and figures of the session.

mod arrivals;
mod figures;
mod reader;
mod stream;

use crate::tui::backend::{Answer, LogChunk, LogKey};

pub use figures::Figures;
pub use reader::{LOG_CAP, Reading, read_on};

/// At most so many bytes of a log, from an offset on.
pub type Read<'a> = dyn Fn(&LogKey, u64, usize) -> Answer<LogChunk> + 'a;
