//! The arguments of `infradev shell`.

use std::path::PathBuf;

use clap::Args;

use crate::domain::{EngineChoice, Suite};

#[derive(Debug, Args)]
pub struct ShellArgs {
    /// A run's id, or the beginning or end of it; or a task, with one of --patch, --submission,
    /// --gold, --base, --hollow.
    #[arg(value_name = "RUN|TASK")]
    pub target: String,
    #[command(flatten)]
    pub what: ShellWhat,
    /// Absent: the case's.
    #[arg(long, value_name = "SUITE", value_parser = suite)]
    pub suite: Option<Suite>,
    /// The case to look into; its name alone where that is enough. Absent: the run's first failing
    /// case, else the whole suite.
    #[arg(long, value_name = "ID")]
    pub case: Option<String>,
    /// Processes of the suite; absent: as in the run, else the task's own number.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub ranks: Option<u32>,
    /// Absent: the run's, else auto.
    #[arg(long)]
    pub engine: Option<EngineChoice>,
    /// Run this there, without a terminal, and end with its exit code (`testcase` runs the case).
    #[arg(short = 'c', long, value_name = "CMD")]
    pub command: Option<String>,
    /// Keep what was changed in the tree as a patch on top of what is laid there.
    #[arg(long, value_name = "FILE")]
    pub keep_patch: Option<PathBuf>,
    /// Only print the command line that reproduces the failure.
    #[arg(long)]
    pub print: bool,
}

/// What the tree is made from.
#[derive(Debug, Args)]
#[group(required = false, multiple = false)]
pub struct ShellWhat {
    /// A patch file, or a symbol-edit TOML.
    #[arg(long, value_name = "FILE")]
    pub patch: Option<PathBuf>,
    /// A submission of the task, by name.
    #[arg(long, value_name = "NAME")]
    pub submission: Option<String>,
    /// The gold patch.
    #[arg(long)]
    pub gold: bool,
    /// The repository just before the change.
    #[arg(long)]
    pub base: bool,
    /// Gold's interfaces, whose bodies raise.
    #[arg(long)]
    pub hollow: bool,
}

fn suite(name: &str) -> Result<Suite, String> {
    let known = Suite::ALL.into_iter().find(|suite| suite.name() == name);
    known.ok_or_else(|| "give official or probes".into())
}
