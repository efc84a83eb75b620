//! What is scored: runs as they were read, with what they were made by and whether they count.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::counted::Counted;

/// What results belong to, never to a model alone (METHOD.md section 1). Absent: not on record.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Configuration {
    pub model: Option<String>,
    /// The agent harness.
    pub agent: Option<String>,
    /// Reasoning effort.
    pub effort: Option<String>,
    /// The prompt's variant.
    pub prompt: Option<String>,
    pub skill: Option<String>,
}

impl Configuration {
    fn parts(&self) -> [(&'static str, Option<&String>); 5] {
        [
            ("model", self.model.as_ref()),
            ("agent", self.agent.as_ref()),
            ("effort", self.effort.as_ref()),
            ("prompt", self.prompt.as_ref()),
            ("skill", self.skill.as_ref()),
        ]
    }

    /// Parts that are not on record: runs that differ in them stand together here.
    pub fn unknown(&self) -> Vec<&'static str> {
        let parts = self.parts().into_iter();
        parts
            .filter_map(|(name, value)| value.is_none().then_some(name))
            .collect()
    }
}

impl fmt::Display for Configuration {
    /// `model M, agent A, prompt P; effort, skill unknown`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<String> = (self.parts().into_iter())
            .filter_map(|(name, value)| Some(format!("{name} {}", value?)))
            .collect();
        let unknown = self.unknown().join(", ");
        match (known.is_empty(), unknown.is_empty()) {
            (false, false) => write!(f, "{}; {unknown} unknown", known.join(", ")),
            (false, true) => f.write_str(&known.join(", ")),
            (true, _) => write!(f, "{unknown} unknown"),
        }
    }
}

/// What a task is sliced by. Absent: its folder could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TaskFacts {
    pub area: Option<String>,
    pub repository: Option<String>,
    pub kind: Option<String>,
    /// GPUs that it needs.
    pub gpus: Option<String>,
}

/// Why a run is in no figure, and is no harness fault either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeftOut {
    /// Gold, several times.
    Calibration,
    Cancelled,
    /// Some cases only, or cases of another run again.
    ChosenCases,
    /// Another folder of the same run says something else.
    Conflict,
    /// Its grade says something else than its cases and the calibration.
    Disagrees,
    /// A copy of a run that is read already.
    Duplicate,
    /// The calibration does not add up, or a suite has no case that gold passes.
    Invalid,
    /// What gold did under its key is nowhere.
    NoCalibration,
    /// It ended without a grade.
    NoGrade,
    /// One suite only was asked for.
    PartOfSuites,
    /// Gold or base: no submission.
    Reference,
    /// Bad input: there is no verdict.
    RefusedOrder,
    /// It runs, waits, or its worker died.
    Unfinished,
    /// Its manifest or journal cannot be read.
    Unreadable,
}

impl LeftOut {
    /// As tables say it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Conflict => "two folders of one run that differ",
            Self::Duplicate => "copies of a scored run",
            Self::Calibration => "calibration runs",
            Self::Reference => "gold or base",
            Self::ChosenCases => "chosen cases only",
            Self::PartOfSuites => "one suite only",
            Self::Unfinished => "unfinished",
            Self::Cancelled => "cancelled",
            Self::RefusedOrder => "refused for bad input",
            Self::NoGrade => "ended without a grade",
            Self::NoCalibration => "no calibration for the key",
            Self::Invalid => "calibration invalid",
            Self::Disagrees => "grade disagrees with the cases",
        }
    }

    /// It never was a submission's whole grade, so that nobody misses it among the figures.
    pub fn expected(self) -> bool {
        matches!(
            self,
            Self::Duplicate | Self::Calibration | Self::Reference | Self::ChosenCases
        )
    }
}

/// Whether a run counts.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// Its `configuration` is set when all configurations are known.
    Counted(Box<Counted>),
    /// Harness fault: excluded, counted by task and configuration.
    Fault(String),
    LeftOut(LeftOut, String),
}

/// A run as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRead {
    pub run: String,
    /// Absent: its manifest cannot be read.
    pub task: Option<String>,
    /// Absent where no submission was graded.
    pub configuration: Option<Configuration>,
    /// What names the graded submission: runs of one task and configuration with the same origin
    /// grade the same patch again.
    pub origin: String,
    /// What it was graded under: its suites' keys.
    pub keys: String,
    /// Version of the agent harness, where it is on record.
    pub version: Option<String>,
    /// Seconds since the epoch.
    pub created_s: f64,
    pub standing: Standing,
}
