//! The published shape of `infradev grade --json` (schema: `assets/schema/grade.json`).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Badge, CaseId, Cause, EngineKind, Outcome, RankOutcome, Suite, Verdict};

/// One graded submission. Field meanings: METHOD.md section 6.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grade {
    /// Version of this shape.
    pub schema: u32,
    pub task: String,
    pub run: String,
    pub engine: EngineKind,
    pub verdict: Verdict,
    pub badges: Vec<Badge>,
    pub cause: Option<Cause>,
    /// Joint: resolved on the official suite and on the probes, each on its own counts.
    pub resolved: bool,
    pub resolved_strict: bool,
    pub resolved_official: bool,
    pub resolved_official_strict: bool,
    pub suites: BTreeMap<Suite, SuiteScore>,
    pub cases: Vec<GradedCase>,
    pub duration_s: Durations,
}

/// Counts of one suite: `|C|`, `|G|`, `|S|` and `|S| / |C|`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuiteScore {
    /// Processes that ran it.
    pub ranks: u32,
    pub collected: usize,
    pub gold_passed: usize,
    pub passed: usize,
    pub score: f64,
}

/// One case of `C`, gold's outcome beside the submission's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GradedCase {
    pub id: CaseId,
    pub suite: Suite,
    pub outcome: Outcome,
    pub gold: Outcome,
    pub duration_s: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Vec<RankOutcome>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Seconds by stage; a stage that did not run took 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Durations {
    pub prepare: f64,
    #[serde(default)]
    pub agent: f64,
    #[serde(default)]
    pub capture: f64,
    pub apply: f64,
    pub build: f64,
    pub official: f64,
    pub probes: f64,
    pub total: f64,
}
