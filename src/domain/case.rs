//! Cases: one collected test each, and what became of it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The full id of a case as the test runner gives it; a repeated id carries ` (2)`, ` (3)`, … so
/// that ids are unique within a suite.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct CaseId(pub String);

impl CaseId {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id without its parameter set: the probe *function*, the unit of acceptance
    /// (METHOD.md section 3).
    pub fn function(&self) -> &str {
        // a parameter set is the last bracket of an id that ends in one; names hold no bracket
        let name_from = self.0.rfind(".py::").map_or(0, |at| at + 5);
        match self.0[name_from..].find('[') {
            Some(at) => &self.0[..name_from + at],
            None => &self.0,
        }
    }

    /// The file part of the id, relative to the work tree.
    pub fn file(&self) -> &str {
        self.0.split("::").next().unwrap_or(&self.0)
    }
}

impl fmt::Display for CaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One of the two judges.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Suite {
    Official,
    Probes,
}

impl Suite {
    pub const ALL: [Suite; 2] = [Suite::Official, Suite::Probes];

    pub fn name(self) -> &'static str {
        match self {
            Suite::Official => "official",
            Suite::Probes => "probes",
        }
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whose patch a suite ran on: gold's (to calibrate) or the graded submission's.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    Gold,
    Submission,
}

impl Subject {
    pub fn name(self) -> &'static str {
        match self {
            Subject::Gold => "gold",
            Subject::Submission => "submission",
        }
    }
}

/// What became of a case. Only [`Outcome::Passed`] counts as passed; [`Outcome::Missing`] counts
/// against the submission, never for it (DESIGN.md, the judge's mechanics).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Passed,
    Failed,
    Error,
    Skipped,
    Xfailed,
    Xpassed,
    Timeout,
    Missing,
}

impl Outcome {
    pub const ALL: [Outcome; 8] = [
        Outcome::Passed,
        Outcome::Skipped,
        Outcome::Xfailed,
        Outcome::Xpassed,
        Outcome::Failed,
        Outcome::Error,
        Outcome::Timeout,
        Outcome::Missing,
    ];

    pub fn passed(self) -> bool {
        self == Outcome::Passed
    }

    pub fn name(self) -> &'static str {
        match self {
            Outcome::Passed => "passed",
            Outcome::Failed => "failed",
            Outcome::Error => "error",
            Outcome::Skipped => "skipped",
            Outcome::Xfailed => "xfailed",
            Outcome::Xpassed => "xpassed",
            Outcome::Timeout => "timeout",
            Outcome::Missing => "missing",
        }
    }

    /// In rows of many: `.` passed, `F` failed, `E` error, `T` timeout, `s` skipped, `x` expected to
    /// fail and did, `X` and did not, `-` missing.
    pub fn mark(self) -> char {
        match self {
            Outcome::Passed => '.',
            Outcome::Failed => 'F',
            Outcome::Error => 'E',
            Outcome::Timeout => 'T',
            Outcome::Skipped => 's',
            Outcome::Xfailed => 'x',
            Outcome::Xpassed => 'X',
            Outcome::Missing => '-',
        }
    }

    /// Position in the order from best to worst: a case is the worst of its ranks.
    pub fn severity(self) -> usize {
        Outcome::ALL
            .iter()
            .position(|o| *o == self)
            .unwrap_or(usize::MAX)
    }

    #[must_use]
    pub fn worst(self, other: Outcome) -> Outcome {
        if other.severity() > self.severity() {
            other
        } else {
            self
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The part of a case in which it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Collect,
    Setup,
    Call,
    Teardown,
}

/// One rank's outcome in a multi-rank suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RankOutcome {
    pub rank: u32,
    pub outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A finished case: the worst of its ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseResult {
    pub id: CaseId,
    pub outcome: Outcome,
    pub phase: Phase,
    pub duration_s: f64,
    /// Present where the suite has more than one rank.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankOutcome>,
    /// One line that says why, with the rank where there are several; untrusted text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Byte offset of the [`CaseDetail`] line in the run's `cases/<subject>-<suite>.jsonl`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail_offset: Option<u64>,
}

/// The long story of a case that did not plainly pass: one line of `cases/<subject>-<suite>.jsonl`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CaseDetail {
    pub id: String,
    pub rank: u32,
    /// Traceback as the runner prints it; untrusted text.
    pub traceback: String,
    pub frames: Vec<Frame>,
    /// Captured sections: name ("stdout", "stderr", "log") and text, cut at a bound that is said.
    pub sections: Vec<(String, String)>,
}

/// One frame of a traceback; `path` is relative to the work tree where it lies inside it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    pub path: String,
    pub line: u32,
    pub function: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_drops_only_the_parameter_set() {
        for (id, function) in [
            ("t/test_a.py::test_x[1-2]", "t/test_a.py::test_x"),
            (
                "t/test_a.py::K::test_x[a::b - [c]]",
                "t/test_a.py::K::test_x",
            ),
            ("t[1]/test_a.py::test_x", "t[1]/test_a.py::test_x"),
            ("t/test_a.py::test_x", "t/test_a.py::test_x"),
        ] {
            assert_eq!(CaseId(id.into()).function(), function);
        }
    }

    #[test]
    fn a_case_is_the_worst_of_its_ranks() {
        assert_eq!(Outcome::Passed.worst(Outcome::Timeout), Outcome::Timeout);
        assert_eq!(Outcome::Missing.worst(Outcome::Failed), Outcome::Missing);
        assert_eq!(Outcome::Passed.worst(Outcome::Skipped), Outcome::Skipped);
    }
}
