//! What every patch did in every run.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::domain::acceptance::{Passed, Role};
use crate::domain::case::{CaseDetail, Frame};
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
    /// Probe cases of which nothing was raised in a suite's own files: whatever the message says, no
    /// probe asserted it.
    pub unasserted: BTreeSet<CaseId>,
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

    /// A mark each case of `all`, a line each run.
    pub(super) fn marks(&self, suite: Suite, all: &[&CaseId]) -> Vec<String> {
        let runs = self.by_case(suite);
        let mark = |run: &HashMap<&CaseId, &CaseResult>, id: &CaseId| {
            run.get(id).map_or(Outcome::Missing, |r| r.outcome).mark()
        };
        (runs.iter())
            .map(|run| all.iter().map(|id| mark(run, id)).collect())
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

/// Whether a suite's own code raised this: its files, or what pytest and its like give tests to assert
/// with, called from there. Without frames nobody knows, and the message counts.
pub fn asserted(detail: &CaseDetail, suites: &[&str]) -> bool {
    let raised = detail.frames.iter().rev().find(|frame| !is_helper(frame));
    let Some(frame) = raised else {
        return true;
    };
    let within = |into: &&str| {
        let rest = frame.path.strip_prefix(into.trim_end_matches('/'));
        into.is_empty() || rest.is_some_and(|rest| rest.starts_with('/'))
    };
    suites.iter().any(within)
}

/// Outside of the work tree: a package of the same name in there is the patch's.
fn is_helper(frame: &Frame) -> bool {
    const OF: [&str; 8] = [
        "/_pytest/",
        "/pluggy/",
        "/unittest/",
        "/numpy/testing/",
        "/numpy/_utils/",
        "/torch/testing/",
        "/pandas/_testing/",
        "/contextlib.py",
    ];
    frame.path.starts_with('/') && OF.iter().any(|part| frame.path.contains(part))
}
