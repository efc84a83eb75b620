//! Signs in a patch that it reaches for its tests (DESIGN.md, The judge's mechanics): what stands
//! in the submission's files and neither in base's nor in gold's.
//!
//! - [`names`]: what names of a file stand for, through its imports
//! - [`find`]: signs in one file
//! - [`writes`]: writes into modules that are not the project's
//! - [`run`]: of a whole change

mod find;
mod names;
mod run;
mod writes;

pub use run::{Signs, SignsInput, is_looked_at, signs};

#[cfg(test)]
mod tests;
