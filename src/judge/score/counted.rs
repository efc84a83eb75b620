//! Counts of one run: `|C|`, `|G|`, `|S|` and what follows from them.

use std::collections::{BTreeSet, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::{Badge, CaseId, Cause, Review, SuiteCalibration, Verdict};

/// One suite of one run, or both together (`joint`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Count {
    /// `|C|`: cases collected when gold runs, its failures and skips included.
    pub collected: usize,
    /// `|G|`: cases that gold passes.
    pub gold_passed: usize,
    /// `|S|`: cases of `C` that the submission passes.
    pub passed: usize,
    /// `|S| / |C|`.
    pub score: f64,
    /// `|S| >= |G|`; of both suites: each on its own counts.
    pub resolved: bool,
    /// `G ⊆ S`.
    pub strict: bool,
}

impl Count {
    /// Counts one suite. `passed`: what the submission passed, cases outside `C` included: they
    /// count for nothing. `stands`: neither refused nor void; else it is never resolved. `None`: a
    /// suite of no cases, or of none that gold passes, judges nothing.
    pub fn of(gold: &SuiteCalibration, passed: &HashSet<&CaseId>, stands: bool) -> Option<Self> {
        let collected = gold.cases.len();
        let gold_passed = gold.passed();
        if gold_passed == 0 {
            return None;
        }
        let count = gold.cases.iter().filter(|c| passed.contains(&c.id)).count();
        let mut of_gold = gold.cases.iter().filter(|c| c.outcome.passed());
        Some(Self {
            collected,
            gold_passed,
            passed: count,
            score: count as f64 / collected as f64,
            resolved: stands && count >= gold_passed,
            strict: stands && of_gold.all(|c| passed.contains(&c.id)),
        })
    }

    /// Both suites: counts of the union, but resolved only where each is on its own counts.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let collected = self.collected + other.collected;
        let passed = self.passed + other.passed;
        Self {
            collected,
            gold_passed: self.gold_passed + other.gold_passed,
            passed,
            score: passed as f64 / collected.max(1) as f64,
            resolved: self.resolved && other.resolved,
            strict: self.strict && other.strict,
        }
    }
}

/// A run that counts, recounted from its cases.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Counted {
    pub run: String,
    pub task: String,
    /// Position in `configurations`.
    pub configuration: usize,
    pub verdict: Verdict,
    pub cause: Option<Cause>,
    pub badges: BTreeSet<Badge>,
    pub official: Count,
    /// Absent: the run's task was unprobed.
    pub probes: Option<Count>,
    /// Official and probes, each on its own counts; unprobed: official.
    pub joint: Count,
    /// `|S| >= |G|` on the union of both suites, where an extra official pass pays for a failed
    /// probe.
    pub resolved_pooled: bool,
    /// Who looked at a suspect run and cleared it: it counts as clear. The badge stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cleared: Option<Review>,
    /// The agent's last error, where its log ends in one: its service or its harness failed it. It
    /// counts as any other; untrusted text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_in_error: Option<String>,
}

impl Counted {
    pub fn suspect(&self) -> bool {
        self.badges.contains(&Badge::Suspect) && self.cleared.is_none()
    }
}
