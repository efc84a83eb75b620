//! The command line: one thin file per subcommand.
//!
//! Exit codes mean the same everywhere: 0 yes, 1 no, 2 your input, 3 our machinery.

mod agents;
mod args;
mod attach;
mod audit;
mod author_args;
mod calibrate;
mod cancel;
mod check;
mod clear;
mod context;
mod contract;
mod coverage;
mod dispatch;
mod doctor;
mod engine;
mod env;
mod env_words;
mod exit;
mod follow;
mod gc;
mod gpu;
mod grade;
mod hollow;
mod image;
mod lint;
mod made;
mod mutants;
mod mutants_graded;
mod output;
mod prompt;
mod resume;
mod run_agent;
mod runs;
pub mod schema;
mod score;
mod shell;
mod sources;
mod table;
mod tasks;
mod trace;
mod verify;
mod workbench;
mod worker;

pub use dispatch::main;
