//! `infradev` without a subcommand: the workbench, on the store, the catalog and the launcher.

mod agents;
mod args;
mod backend;
mod config;
mod judged;
mod logs;
mod machine;
mod open;
#[cfg(test)]
mod tests;
mod watch;

pub use args::WorkbenchArgs;
pub use open::run;
