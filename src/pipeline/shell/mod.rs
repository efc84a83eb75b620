//! A shell in the sandbox of a case, for a person who looks into a failure (README, What you can
//! do).
//!
//! ```text
//! infradev shell ──frames── __shell ──frames── process 1 ──terminal── bash, testcase, pdb
//!   the person's terminal     holds the sandbox, cleans up whatever becomes of the other
//! ```
//!
//! - [`order`]: what is asked, and what the two say to each other
//! - [`serve`](serve()): `__shell`, from the order to nothing left
//! - `site`: tree, tests and sandbox, made by the functions that grade
//! - `kit`: what lies in the sandbox for the person
//! - `since`: what has changed since the run
//! - `greeting`: what is where, in words
//! - `open`: while it is open
//! - `rooms`: a folder of its own each, and those that were left

mod greeting;
mod kit;
mod open;
mod order;
mod rooms;
mod serve;
mod since;
mod site;

pub use kit::COMMAND;
pub use order::{FromPerson, Order, Subject, ToPerson};
pub use rooms::sweep;
pub use serve::serve;
