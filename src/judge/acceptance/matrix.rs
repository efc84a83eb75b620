//! Which probe function rejects which patch, and by what. The unit is the function, all its
//! parameter sets together: a patch is rejected by it when some case of it is not `passed`
//! (METHOD.md section 3, **R**).

use std::collections::{BTreeMap, BTreeSet};

use super::evidence::PatchEvidence;
use crate::domain::acceptance::{How, Rejection};
use crate::domain::task::TaskSpec;
use crate::domain::{CaseId, CaseResult, Outcome, Phase, Suite};

/// The probe functions of a task.
pub(super) struct Functions<'a> {
    /// In the order of collection, each with gold's cases of it.
    pub all: Vec<(&'a str, Vec<&'a CaseId>)>,
    guards: BTreeSet<&'a str>,
    claims: BTreeMap<&'a str, Vec<&'a str>>,
}

impl<'a> Functions<'a> {
    pub fn of(spec: &'a TaskSpec, cases: &[&'a CaseId]) -> Self {
        let mut all: Vec<(&str, Vec<&CaseId>)> = Vec::new();
        let mut at: BTreeMap<&str, usize> = BTreeMap::new();
        for id in cases {
            let index = *at.entry(id.function()).or_insert_with(|| {
                all.push((id.function(), Vec::new()));
                all.len() - 1
            });
            all[index].1.push(id);
        }
        let mut claims: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for claim in &spec.claims {
            for probe in &claim.probes {
                claims.entry(probe).or_default().push(&claim.id);
            }
        }
        Self {
            all,
            guards: spec.guards.iter().map(|g| g.probe.as_str()).collect(),
            claims,
        }
    }

    pub fn guard(&self, function: &str) -> bool {
        self.guards.contains(function)
    }

    /// Those that count: no guards.
    pub fn probes(&self) -> impl Iterator<Item = &(&'a str, Vec<&'a CaseId>)> {
        self.all.iter().filter(|(name, _)| !self.guard(name))
    }

    pub fn guards(&self) -> impl Iterator<Item = &(&'a str, Vec<&'a CaseId>)> {
        self.all.iter().filter(|(name, _)| self.guard(name))
    }

    pub fn claims_of(&self, function: &str) -> Vec<String> {
        let claims = self.claims.get(function).into_iter().flatten();
        claims.map(|c| (*c).to_owned()).collect()
    }

    /// Functions that `task.toml` names, whether gold collects them or not.
    pub fn declared(&self) -> BTreeSet<&'a str> {
        self.claims.keys().chain(&self.guards).copied().collect()
    }

    /// What rejects a patch, in the order of collection. Nothing rejects one of which nothing ran.
    pub fn rejections(&self, patch: &PatchEvidence) -> Vec<Rejection> {
        let runs = patch.by_case(Suite::Probes);
        let mut all = Vec::new();
        for (function, cases) in &self.all {
            let mut strongest: Option<Rejection> = None;
            for (run, id) in runs
                .iter()
                .flat_map(|run| cases.iter().map(move |id| (run, *id)))
            {
                let result = run.get(id).copied();
                let outcome = result.map_or(Outcome::Missing, |r| r.outcome);
                if outcome.passed() {
                    continue;
                }
                let how = match result.map_or(How::Missing, how) {
                    How::Assertion if patch.unasserted.contains(id) => How::Error,
                    how => how,
                };
                if strongest.as_ref().is_none_or(|known| how < known.how) {
                    strongest = Some(Rejection {
                        function: (*function).to_owned(),
                        case: id.clone(),
                        outcome,
                        how,
                        claims: self.claims_of(function),
                        message: result.and_then(|r| r.message.clone()),
                    });
                }
            }
            all.extend(strongest);
        }
        all
    }
}

/// By what a case that did not pass was stopped. An assertion on any rank counts as one: the
/// others then wait for that rank, and time out.
pub(super) fn how(result: &CaseResult) -> How {
    match result.phase {
        Phase::Collect if matches!(result.outcome, Outcome::Failed | Outcome::Error) => {
            return How::Collection;
        }
        Phase::Setup | Phase::Teardown
            if matches!(result.outcome, Outcome::Failed | Outcome::Error) =>
        {
            return How::Setup;
        }
        _ => {}
    }
    let told = |outcome: Outcome, message: &Option<String>| {
        matches!(outcome, Outcome::Failed | Outcome::Error)
            && message.as_deref().is_some_and(asserts)
    };
    let on_a_rank = result.ranks.iter().any(|r| told(r.outcome, &r.message));
    match result.outcome {
        _ if on_a_rank || told(result.outcome, &result.message) => How::Assertion,
        Outcome::Timeout => How::Timeout,
        Outcome::Skipped | Outcome::Xfailed | Outcome::Xpassed => How::Skipped,
        Outcome::Missing => How::Missing,
        Outcome::Failed | Outcome::Error | Outcome::Passed => How::Error,
    }
}

/// pytest's words for a failed assertion (`assert …`, `AssertionError …`) and for `pytest.fail` and
/// `pytest.raises` (`Failed: …`). They tell how, never whether.
fn asserts(message: &str) -> bool {
    let plain = match message.strip_prefix("rank ") {
        Some(rest) => rest.split_once(": ").map_or(message, |(_, rest)| rest),
        None => message,
    };
    ["assert ", "AssertionError", "Failed: "]
        .iter()
        .any(|word| plain.starts_with(word))
}
