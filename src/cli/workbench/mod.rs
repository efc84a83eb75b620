//! `infradev` without a subcommand: the workbench, on the store, the catalog and the launcher.

mod agents;
mod backend;
mod logs;
mod machine;
mod open;
mod watch;

pub use open::run;
