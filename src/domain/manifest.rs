//! What a run was asked to do: `manifest.json`, written once before its worker starts.

use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AgentOrder, CaseId, Source, Suite};

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

impl EngineChoice {
    pub fn name(self) -> &'static str {
        match self {
            EngineChoice::Auto => "auto",
            EngineChoice::Local => "local",
            EngineChoice::Docker => "docker",
        }
    }

    /// Each leads to another, and the last to the first.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            EngineChoice::Auto => EngineChoice::Docker,
            EngineChoice::Docker => EngineChoice::Local,
            EngineChoice::Local => EngineChoice::Auto,
        }
    }
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
    pub fn includes(self, suite: Suite) -> bool {
        match self {
            SuiteChoice::All => true,
            SuiteChoice::Official => suite == Suite::Official,
            SuiteChoice::Probes => suite == Suite::Probes,
        }
    }
}

/// What a grade does where gold has not run under its key (METHOD.md section 6).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum CalibrationChoice {
    /// Gold runs first, once.
    #[default]
    Auto,
    /// It is refused: only a calibration on record will do.
    Recorded,
    /// A calibration of another GPU type or environment will do too, with the badge `uncalibrated`.
    Any,
}

impl CalibrationChoice {
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde asks by reference
    fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

/// Cells that a verify run does not take as known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Again {
    /// `adversarial/NAME`.
    pub patch: String,
    /// Absent: both suites.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<Suite>,
    /// A test file, in the work tree; absent: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

impl Again {
    /// `file` absent: the suite runs as a whole, and so every file of it.
    pub fn names(&self, patch: &str, suite: Suite, file: Option<&str>) -> bool {
        let same_file = match (&self.file, file) {
            (Some(own), Some(file)) => own == file,
            _ => true,
        };
        self.patch == patch && self.suite.is_none_or(|own| own == suite) && same_file
    }
}

/// What a run does with its source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub enum Work {
    /// From a patch to a verdict.
    #[default]
    Grade,
    /// Gold this many times, for `C`, `G` and what is not the same each time.
    Calibrate { runs: u32 },
    /// Every patch of the task on both suites, gold this many times.
    Verify {
        runs: u32,
        /// Cells that run again though they are known.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        again: Vec<Again>,
        /// Then the run stays and answers each edit of the task, until there was none for so many
        /// seconds; absent: it ends.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        watch_s: Option<u64>,
    },
    /// Every mutant of gold on the official suite, and those that pass it on the probes.
    Mutants,
}

impl Work {
    /// Whether it goes on until there is no edit for a while, or somebody ends it.
    pub fn is_watch(&self) -> bool {
        matches!(
            self,
            Self::Verify {
                watch_s: Some(_),
                ..
            }
        )
    }
}

impl Work {
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
    #[serde(default, skip_serializing_if = "CalibrationChoice::is_auto")]
    pub calibration: CalibrationChoice,
    /// Only these cases; empty: all of the suites. Such a run never changes another's verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<CaseId>,
    /// The run whose cases are run again here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    /// Seconds since the epoch.
    pub created_s: f64,
}
