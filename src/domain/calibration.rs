//! What gold did: `C` and `G` of METHOD.md section 6, kept by key.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CaseId, EngineKind, Outcome, Suite};

/// Version of this shape.
pub const CALIBRATION_VERSION: u32 = 2;

/// Gold on one or both suites of a task, on one machine. Each suite's part is valid only for the
/// key that it was made under.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    pub schema: u32,
    pub task: String,
    /// Seconds since the epoch.
    pub created_s: f64,
    pub engine: EngineKind,
    /// Hash of the environment.
    pub environment: String,
    pub machine: Machine,
    /// Gold ran in namespaces of its own.
    pub isolated: bool,
    pub suites: BTreeMap<Suite, SuiteCalibration>,
}

/// Where gold ran. What is not known is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Machine {
    /// `NVIDIA H200`; absent: no GPU was used.
    pub gpu_type: Option<String>,
    pub gpus: u32,
    pub driver: Option<String>,
    pub kernel: Option<String>,
    pub python: String,
    /// Version of PyTorch in the environment.
    pub torch: Option<String>,
}

/// Gold on one suite, in the order of collection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuiteCalibration {
    pub key: String,
    pub ranks: u32,
    /// Gold runs it rests on; one only bounds flakiness loosely (METHOD.md section 3).
    pub runs: u32,
    pub cases: Vec<CalibratedCase>,
    /// Seconds of the slowest run.
    pub duration_s: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalibratedCase {
    pub id: CaseId,
    /// Passed where every run passed it; else the first outcome that is none.
    pub outcome: Outcome,
    /// Seconds of the slowest run.
    pub duration_s: f64,
    /// Each run in turn; absent where there was one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<CaseRun>,
}

/// One case in one gold run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseRun {
    pub outcome: Outcome,
    pub duration_s: f64,
}

impl CalibratedCase {
    /// A case as its runs were, in turn; `None` without a run.
    pub fn of(id: CaseId, runs: Vec<CaseRun>) -> Option<Self> {
        let first = *runs.first()?;
        let worst = runs.iter().find(|r| !r.outcome.passed()).unwrap_or(&first);
        let outcome = worst.outcome;
        let duration_s = runs.iter().map(|r| r.duration_s).fold(0.0, f64::max);
        Some(Self {
            id,
            outcome,
            duration_s,
            runs: if runs.len() > 1 { runs } else { Vec::new() },
        })
    }

    /// Not the same outcome in every run.
    pub fn flaky(&self) -> bool {
        self.runs.windows(2).any(|w| w[0].outcome != w[1].outcome)
    }
}

impl SuiteCalibration {
    pub fn passed(&self) -> usize {
        self.cases.iter().filter(|c| c.outcome.passed()).count()
    }

    pub fn flaky(&self) -> Vec<&CaseId> {
        let flaky = self.cases.iter().filter(|c| c.flaky());
        flaky.map(|c| &c.id).collect()
    }

    /// Cases that no run passed or failed: gold does not show what they want.
    pub fn skipped(&self) -> Vec<&CaseId> {
        let skipped = self.cases.iter().filter(|c| c.outcome == Outcome::Skipped);
        skipped.map(|c| &c.id).collect()
    }

    /// Upper 95 % bound for the flake rate of a case that was the same in every run:
    /// 1 - 0.05^(1/n) (METHOD.md section 3).
    pub fn flake_bound(&self) -> f64 {
        1.0 - 0.05_f64.powf(1.0 / f64::from(self.runs.max(1)))
    }

    /// Default limit of one case: max(60 s, 10x gold's slowest) (DESIGN.md, Continuation).
    pub fn case_limit_s(&self) -> f64 {
        self.cases
            .iter()
            .map(|c| c.duration_s * 10.0)
            .fold(60.0, f64::max)
    }
}

impl Calibration {
    /// The part that was made under `key`.
    pub fn of_key(&self, key: &str) -> Option<Self> {
        let (suite, part) = self.suites.iter().find(|(_, s)| s.key == key)?;
        Some(Self {
            suites: BTreeMap::from([(*suite, part.clone())]),
            ..self.clone()
        })
    }

    pub fn collected(&self) -> usize {
        self.suites.values().map(|s| s.cases.len()).sum()
    }

    pub fn passed(&self) -> usize {
        self.suites.values().map(SuiteCalibration::passed).sum()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn case(outcomes: &[Outcome]) -> CalibratedCase {
        let runs = outcomes.iter().zip(1_u8..).map(|(outcome, i)| CaseRun {
            outcome: *outcome,
            duration_s: f64::from(i),
        });
        CalibratedCase::of(CaseId("t.py::a".into()), runs.collect()).unwrap()
    }

    #[test]
    fn a_flaky_case_is_none_that_gold_passes() {
        use Outcome::{Failed, Passed, Skipped};
        let flaky = case(&[Passed, Failed, Passed]);
        assert!(flaky.flaky() && flaky.outcome == Failed);
        assert!((flaky.duration_s - 3.0).abs() < 1e-9);
        let steady = case(&[Passed, Passed, Passed]);
        assert!(!steady.flaky() && steady.outcome == Passed);
        let skipped = case(&[Skipped, Skipped]);
        assert!(!skipped.flaky());
        let suite = SuiteCalibration {
            runs: 3,
            cases: vec![flaky, steady, skipped],
            ..SuiteCalibration::default()
        };
        assert_eq!(suite.passed(), 1);
        assert_eq!((suite.flaky().len(), suite.skipped().len()), (1, 1));
        // METHOD.md section 3: 63 % after 3
        assert!((suite.flake_bound() - 0.632).abs() < 0.001);
    }

    #[test]
    fn one_run_is_not_listed_beside_itself() {
        let once = case(&[Outcome::Passed]);
        assert!(once.runs.is_empty() && !once.flaky());
        assert!(CalibratedCase::of(CaseId("x".into()), Vec::new()).is_none());
    }
}
