//! Arguments of what authors of tasks run on mutants, hollow patches and coverage.

use std::path::PathBuf;

use clap::Args;

use crate::domain::EngineChoice;

#[derive(Debug, Args)]
pub struct MutantsArgs {
    pub task: String,
    /// Write each as a patch against base into this folder, which is made.
    #[arg(long, value_name = "DIR", conflicts_with = "grade")]
    pub out: Option<PathBuf>,
    /// Run them: all on the official suite, and those that pass it as gold does on the probes.
    #[arg(long)]
    pub grade: bool,
    #[arg(long, default_value = "auto", requires = "grade")]
    pub engine: EngineChoice,
    /// Processes of every suite instead of the task's own number, one GPU for each where the task
    /// needs GPUs.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64), requires = "grade")]
    pub ranks: Option<u32>,
    /// Start the run and return at once; `infradev attach` follows it.
    #[arg(long, requires = "grade")]
    pub detach: bool,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct CoverageArgs {
    pub task: String,
    /// Sign, under this name, that the probes of its claims measure what the claims say; kept in the
    /// task's signoff.json, and stale once claim or probes change.
    #[arg(long, value_name = "NAME")]
    pub sign: Option<String>,
    /// Sign this claim only (may be repeated).
    #[arg(long = "claim", value_name = "ID", requires = "sign")]
    pub claims: Vec<String>,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct HollowArgs {
    pub task: String,
    /// Keep it as hollow.patch in the task's folder.
    #[arg(long)]
    pub write: bool,
    #[arg(long)]
    pub json: bool,
}
