//! The acceptance rule by execution (METHOD.md section 3): every patch of a task on both suites,
//! gold several times.
//!
//! - [`candidates`]: the patches, as trees
//! - [`hollow`]: one of them, which tests must be able to import
//! - [`files`]: the tests of a suite, and what of them a cell rests on
//! - [`reading`]: all of it as it was at one moment
//! - [`keys`]: what a cell depends on, and what the whole does
//! - [`memory`]: what needs to be worked out but once
//! - [`cells`]: the jobs that are left, run beside each other as [`limits`] allow; [`asked`]: for what
//! - [`gold_first`]: what the others wait for; [`whole`]: what is judged and recorded of gold
//! - [`evidence`]: all of it, as the rule takes it
//! - [`stage`]: from the order to the record
//! - [`watch`], [`edits`]: the same again after each edit
//! - [`warm`]: sandboxes that wait for one; [`modules`]: with these imported
//! - [`compiled`]: bytecode that is made for all of them at once

mod asked;
mod candidates;
mod cells;
mod compiled;
mod edits;
mod evidence;
mod files;
mod gold_first;
mod hollow;
mod keys;
mod limits;
mod memory;
mod modules;
mod reading;
mod stage;
mod warm;
mod watch;
mod whole;

pub(super) use candidates::{Candidate, build_all};
pub(super) use cells::{Cells, Results, Slot};
pub(super) use hollow::hollow_tree;
pub use hollow::recorded_works;
pub use keys::{Freshness, freshness};
pub(super) use limits::beside;
pub(super) use memory::Memory;
pub(super) use reading::Suites;
pub(super) use stage::verify;
