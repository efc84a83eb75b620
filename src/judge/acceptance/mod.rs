//! The acceptance rule of a probe suite, and what its executions tell beyond it (METHOD.md
//! section 3).
//!
//! - [`evidence`]: what every patch did in every run
//! - [`matrix`]: which probe function rejects which patch, and by what
//! - [`rules`]: the parts of the rule
//! - [`findings`]: what to revise, and warnings
//! - [`accept`]: all of it

mod accept;
mod evidence;
mod findings;
mod matrix;
mod rules;
#[cfg(test)]
mod tests;

pub use accept::{About, accept};
pub use evidence::{PatchEvidence, SuiteRuns};
