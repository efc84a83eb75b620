//! The stages of a run, and the worker that runs them (README, How a patch is graded).
//!
//! - `worker`: takes a run directory, journals, cancels, cleans up
//! - `grade`: the order of the stages
//! - `ground`, `trees`, `calibrate`, `build`, `run_suites`: one stage each
//! - `evidence`: what a submission exchanged, held against gold
//! - `agent`: an agent at work, and the capture of its patch
//! - `verify`: the acceptance rule by execution
//! - `mutants`: gold's mutants on both suites
//! - `disk`: how much of it a run takes, and who filled it
//! - `elsewhere`: calibrations of other machines
//! - `engines`: which engine, and why
//! - `gold`: its runs, that calibrations are made of
//! - `gpus`: the GPUs of a run, taken and given back
//! - `place`: the sandboxes of a work tree
//! - [`shell`]: a person in a case's sandbox
//! - [`suite`]: ranks, limits, continuation
//! - [`Comparer`]: solutions beside each other, for who shows them
//! - `check`: whether a task's patches apply

mod agent;
mod build;
mod calibrate;
mod check;
mod compare;
mod disk;
mod elsewhere;
mod engines;
mod error;
mod evidence;
mod gold;
mod gpus;
mod grade;
mod ground;
mod key;
mod mutants;
mod one_process;
mod place;
mod recorder;
mod run_suites;
pub mod shell;
pub mod suite;
mod trees;
mod verify;
mod worker;

pub use check::{Applies, check_patches};
pub use compare::Comparer;
pub use engines::builder;
pub use error::WorkError;
pub use verify::{Freshness, freshness, recorded_works};
pub use worker::work;
