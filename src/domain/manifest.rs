//! What a run was asked to do: `manifest.json`, written once before its worker starts.

use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AgentOrder, CaseId, Source};

/// A run's id: sortable by time, unique in a home.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct RunId(pub String);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The engine that really ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EngineKind {
    Local,
    Docker,
}

impl EngineKind {
    pub fn name(self) -> &'static str {
        match self {
            EngineKind::Local => "local",
            EngineKind::Docker => "docker",
        }
    }
}

/// The engine that was asked for.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum EngineChoice {
    #[default]
    Auto,
    Local,
    Docker,
}

/// The suites that were asked for.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum SuiteChoice {
    Official,
    Probes,
    #[default]
    All,
}

impl SuiteChoice {
    pub fn includes(self, suite: super::Suite) -> bool {
        match self {
            SuiteChoice::All => true,
            SuiteChoice::Official => suite == super::Suite::Official,
            SuiteChoice::Probes => suite == super::Suite::Probes,
        }
    }
}

/// What a run does with its source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub enum Work {
    /// From a patch to a verdict.
    #[default]
    Grade,
    /// Gold this many times, for `C`, `G` and what is not the same each time.
    Calibrate { runs: u32 },
    /// Every patch of the task on both suites, gold this many times.
    Verify { runs: u32 },
}

impl Work {
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde asks by reference
    fn is_grade(&self) -> bool {
        *self == Self::Grade
    }
}

/// `manifest.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub schema: u32,
    pub run: RunId,
    pub task: String,
    /// Absolute folder of the task.
    pub task_dir: PathBuf,
    pub source: Source,
    #[serde(default, skip_serializing_if = "Work::is_grade")]
    pub work: Work,
    /// Where the source is an agent: what is asked of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentOrder>,
    pub suites: SuiteChoice,
    pub engine: EngineChoice,
    /// Processes of every suite, where others are wanted than the task's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
    /// Only these cases; empty: all of the suites. Such a run never changes another's verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<CaseId>,
    /// The run whose cases are run again here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    /// Seconds since the epoch.
    pub created_s: f64,
}
