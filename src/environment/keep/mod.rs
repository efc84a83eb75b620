//! What a home keeps of environments, for people who look after its disk: which there are and who
//! wants them, whether each still is what was built, what may go, and what sharing saves.
//!
//! Nothing here builds; nothing is taken from under a run that uses it or a build that goes on.

mod audit;
mod collect;
mod collect_cache;
mod discard;
mod document;
mod list;
mod scan;
mod shelf;
mod usage;

pub use audit::check;
pub use collect::{Collect, collect};
pub use discard::discard;
pub use document::{
    CheckedEnvironment, Collected, CollectedItem, CollectedKind, EnvironmentRow, EnvironmentState,
    EnvironmentsChecked, EnvironmentsDocument, Finding, FindingKind, Kept, UsageDocument, UsageRow,
};
pub use list::list;
pub use shelf::Wanted;
pub use usage::usage;
