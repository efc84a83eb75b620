//! The acceptance rule by execution (METHOD.md section 3): every patch of a task on both suites,
//! gold several times.
//!
//! - [`candidates`]: the patches, as trees
//! - [`keys`]: what a cell depends on, and what the whole does
//! - [`cells`]: the jobs that are left, run beside each other
//! - [`stage`]: from the order to the record

mod candidates;
mod cells;
mod keys;
mod stage;

pub use keys::{Freshness, freshness};
pub(super) use stage::verify;
