//! The acceptance rule of a probe suite, and what its executions tell beyond it (METHOD.md
//! section 3).
//!
//! - [`evidence`]: what every patch did in every run
//! - [`matrix`]: which probe function rejects which patch, and by what
//! - [`rules`]: the parts of the rule
//! - [`findings`]: what to revise, and warnings
//! - [`conftest`]: what keeps a whole suite from being collected
//! - [`hollow`]: by what probes reject the hollow patch
//! - [`accept`]: all of it
//! - [`coverage`]: the coverage record of the claims
//! - [`mutants`]: gold's mutants, by the same matrix

mod accept;
mod conftest;
mod coverage;
mod evidence;
mod findings;
mod hollow;
mod matrix;
mod mutants;
mod rules;
#[cfg(test)]
mod tests;

pub use accept::{About, accept};
pub use conftest::{WHOLE, printed_place};
pub use coverage::{coverage, rounds_before};
pub use evidence::{PatchEvidence, SuiteRuns, asserted};
pub use hollow::HollowStory;
pub use mutants::{MutationAbout, mutation, passes_official};
