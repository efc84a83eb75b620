//! Candidates for adversarial patches, made from gold without an agent (METHOD.md section 3).
//!
//! Each is gold with one small wrong change in a line that the change made. Whether it violates a
//! claim and passes the official tests is for a run to tell.
//!
//! - [`operators`]: the changes
//! - [`run`]: all of them over a change, named stably, without duplicates

mod operators;
mod run;

pub use operators::Operator;
pub use run::{Bare, Mutant, Mutants, mutants};

#[cfg(test)]
mod tests;
