//! The stages of a run, and the worker that runs them (README, How a patch is graded).
//!
//! - `worker`: takes a run directory, journals, cancels, cleans up
//! - `grade`: the order of the stages
//! - `ground`, `trees`, `calibrate`, `build`, `run_suites`: one stage each
//! - `agent`: an agent at work, and the capture of its patch
//! - `verify`: the acceptance rule by execution
//! - `engines`: which engine, and why
//! - `gpus`: the GPUs of a run, taken and given back
//! - `place`: the sandboxes of a work tree
//! - [`suite`]: ranks, limits, continuation
//! - [`Comparer`]: solutions beside each other, for who shows them
//! - `check`: whether a task's patches apply

mod agent;
mod build;
mod calibrate;
mod check;
mod compare;
mod engines;
mod error;
mod gpus;
mod grade;
mod ground;
mod key;
mod one_process;
mod place;
mod recorder;
mod run_suites;
pub mod suite;
mod trees;
mod verify;
mod worker;

pub use check::{Applies, check_patches};
pub use compare::Comparer;
pub use engines::builder;
pub use error::WorkError;
pub use verify::{Freshness, freshness};
pub use worker::work;
