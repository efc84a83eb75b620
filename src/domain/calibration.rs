//! What gold did: `C` and `G` of METHOD.md section 6, kept by key in the home.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CaseId, EngineKind, Outcome, Suite};

/// One calibration; valid only for the key it was made under.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    pub schema: u32,
    pub key: String,
    pub task: String,
    pub created_s: f64,
    pub engine: EngineKind,
    pub environment: String,
    /// Gold ran in namespaces of its own.
    pub isolated: bool,
    /// Gold runs it rests on; one only bounds flakiness loosely (METHOD.md section 3).
    pub runs: u32,
    pub suites: BTreeMap<Suite, SuiteCalibration>,
}

/// Gold on one suite, in the order of collection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuiteCalibration {
    pub cases: Vec<CalibratedCase>,
    pub duration_s: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalibratedCase {
    pub id: CaseId,
    pub outcome: Outcome,
    pub duration_s: f64,
}

impl SuiteCalibration {
    pub fn passed(&self) -> usize {
        self.cases.iter().filter(|c| c.outcome.passed()).count()
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
    pub fn collected(&self) -> usize {
        self.suites.values().map(|s| s.cases.len()).sum()
    }

    pub fn passed(&self) -> usize {
        self.suites.values().map(SuiteCalibration::passed).sum()
    }
}
