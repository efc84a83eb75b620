//! What every patch did in every run.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::domain::acceptance::{Passed, Role};
use crate::domain::{CaseId, CaseResult, Cause, Outcome, Suite};

/// Results of a suite, run by run.
pub type SuiteRuns = BTreeMap<Suite, Vec<Vec<CaseResult>>>;

/// One patch of the task.
#[derive(Clone, Debug)]
pub struct PatchEvidence {
    pub role: Role,
    /// Within its role: `sum-not-mean`.
    pub name: String,
    /// The claim that an adversarial patch violates.
    pub claim: Option<String>,
    /// Why nothing of it ran.
    pub refused: Option<(Cause, String)>,
    pub runs: SuiteRuns,
}

impl PatchEvidence {
    pub fn label(&self) -> String {
        self.role.label(&self.name)
    }

    /// Runs of a suite, by case.
    pub(super) fn by_case(&self, suite: Suite) -> Vec<HashMap<&CaseId, &CaseResult>> {
        let runs = self.runs.get(&suite).into_iter().flatten();
        runs.map(|run| run.iter().map(|r| (&r.id, r)).collect())
            .collect()
    }

    /// Cases of `all` that it passes in its worst run.
    pub(super) fn passed(&self, suite: Suite, all: &[&CaseId]) -> Passed {
        let runs = self.by_case(suite);
        let passes = |run: &HashMap<&CaseId, &CaseResult>| {
            let passed = |id: &&&CaseId| run.get(**id).is_some_and(|r| r.outcome.passed());
            all.iter().filter(passed).count()
        };
        Passed {
            passed: runs.iter().map(passes).min().unwrap_or(0),
            of: all.len(),
        }
    }
}

/// Gold's cases of a suite: everything that a run of it collected, in that order.
pub(super) fn collected(gold: &PatchEvidence, suite: Suite) -> Vec<&CaseId> {
    let mut seen = BTreeSet::new();
    let runs = gold.runs.get(&suite).into_iter().flatten().flatten();
    // a case that only other runs have is listed there, not collected
    runs.map(|r| &r.id).filter(|id| seen.insert(*id)).collect()
}

/// Outcomes of a case, run by run; a run that does not have it says `missing`.
pub(super) fn outcomes(
    runs: &[HashMap<&CaseId, &CaseResult>],
    id: &CaseId,
) -> impl Iterator<Item = Outcome> {
    runs.iter()
        .map(move |run| run.get(id).map_or(Outcome::Missing, |r| r.outcome))
}
