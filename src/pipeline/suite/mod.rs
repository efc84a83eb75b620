//! Runs a suite in a sandbox and folds what its ranks report (DESIGN.md, The judge's mechanics).
//!
//! - [`spec`]: what is asked, what comes of it, and why it may not come
//! - [`run`]: groups of processes, limits, continuation
//! - `command`, [`reporter`]: what a rank runs
//! - `record`, `rank`, `group`, `deadline`, `ending`, `fold`, `tally`: pure; from bytes and time to outcomes
//! - [`twins`]: the tests again, made to fail
//! - [`waiting`]: a sandbox whose ranks wait for their order
//! - `files`: what is left in the run directory

mod command;
mod deadline;
mod ending;
mod files;
mod fold;
mod group;
mod rank;
mod record;
mod reporter;
mod run;
mod spec;
mod tally;
mod twins;
mod waiting;

pub use command::{environment, port, tidy};
pub use reporter::{REPORTER, install_reporter, reporter_hash, reporter_mount};
pub use run::run_suite;
pub use spec::{Sandboxes, SuiteError, SuiteOutcome, SuiteRun, default_case_limit};
pub use twins::{SAMPLE, TwinFunction, Twins, run_twins, twin_tree};
pub use waiting::{ORDERS, Waiting, WaitsFor, orders_mount};
