//! What is known, judged by the task as it is now, and the columns that it has.

use std::collections::{BTreeMap, BTreeSet};

use super::matrix::{Column, GridMark, Tried};
use super::told::SlotId;
use crate::domain::acceptance::{Acceptance, FindingKind, How, Role};
use crate::domain::{CaseId, CaseResult, EngineKind, Outcome, Suite, TaskSpec};
use crate::judge::acceptance::{About, PatchEvidence, SuiteRuns, accept};

/// The patches of a task as it is now, gold first.
pub(super) fn patches(spec: &TaskSpec) -> Vec<(Role, String, Option<String>)> {
    let plain = [Role::Gold, Role::Base, Role::Hollow].map(|role| (role, String::new(), None));
    let adversarial = spec.adversarial.iter();
    let adversarial =
        adversarial.map(|a| (Role::Adversarial, a.name.clone(), Some(a.claim.clone())));
    let alternative = spec.alternative.iter();
    let alternative = alternative.map(|a| (Role::Alternative, a.name.clone(), None));
    (plain.into_iter().chain(adversarial).chain(alternative)).collect()
}

/// What is known, judged by the task as it is now.
pub(super) fn judge(
    spec: &TaskSpec,
    patches: &[(Role, String, Option<String>)],
    tried: &BTreeMap<SlotId, Tried>,
    recorded: Option<&Acceptance>,
    runs: u32,
) -> Acceptance {
    let evidence: Vec<PatchEvidence> = patches
        .iter()
        .map(|(role, name, claim)| {
            let label = role.label(name);
            let mut all = SuiteRuns::new();
            for ((patch, suite, _), tried) in tried {
                if *patch == label {
                    let results = tried.results().map(|(_, r)| r.clone()).collect();
                    all.entry(*suite).or_default().push(results);
                }
            }
            let on_record = recorded.and_then(|r| r.patches.iter().find(|p| p.patch == label));
            PatchEvidence {
                role: *role,
                name: name.clone(),
                claim: claim.clone(),
                // what does not apply is told nowhere else
                refused: (on_record.filter(|_| all.is_empty())).and_then(|p| p.refused.clone()),
                runs: all,
                // told by the stories of its cases: taken from the record
                unasserted: (on_record.into_iter().flat_map(|p| &p.rejected_by))
                    .filter(|r| r.how == How::Error)
                    .map(|r| r.case.clone())
                    .collect(),
            }
        })
        .collect();
    let about = About {
        run: recorded.map_or(String::new(), |r| r.run.clone()),
        key: recorded.map_or(String::new(), |r| r.key.clone()),
        engine: recorded.map_or(EngineKind::Local, |r| r.engine),
        environment: recorded.map_or(String::new(), |r| r.environment.clone()),
        image: recorded.and_then(|r| r.image.clone()),
        gpu_type: recorded.and_then(|r| r.gpu_type.clone()),
        created_s: recorded.map_or(0.0, |r| r.created_s),
        runs,
        ranks: recorded.and_then(|r| r.ranks),
        // needs the stories of its cases and the sources: taken from the record below
        hollow: None,
    };
    let mut judged = accept(spec, &evidence, &about);
    let told = recorded.into_iter().flat_map(|r| &r.warnings);
    let of_hollow = [FindingKind::HollowThroughOld, FindingKind::HollowUnread];
    let old = told.filter(|w| of_hollow.contains(&w.kind));
    judged.warnings.extend(old.cloned());
    judged
}

/// Probe functions in the order of collection, as gold's runs have them; of a record alone, as
/// base's row and the task have them.
pub(super) fn columns(
    spec: &TaskSpec,
    tried: &BTreeMap<SlotId, Tried>,
    judged: Option<&Acceptance>,
) -> Vec<Column> {
    let mut seen = BTreeSet::new();
    let mut functions: Vec<String> = Vec::new();
    let mut add = |function: &str| {
        if seen.insert(function.to_owned()) {
            functions.push(function.to_owned());
        }
    };
    if tried.is_empty() {
        for row in judged.map_or(&[][..], |a| &a.patches) {
            row.rejected_by.iter().for_each(|r| add(&r.function));
        }
        if judged.is_some() {
            let claimed = spec.claims.iter().flat_map(|c| &c.probes);
            claimed.for_each(|probe| add(probe));
            spec.guards.iter().for_each(|guard| add(&guard.probe));
        }
    } else {
        let gold = |((patch, suite, _), _): &(&SlotId, &Tried)| {
            patch == Role::Gold.name() && *suite == Suite::Probes
        };
        for (_, tried) in tried.iter().filter(gold) {
            let ids = tried.results().map(|(_, r): (_, &CaseResult)| &r.id);
            ids.for_each(|id: &CaseId| add(id.function()));
        }
    }
    functions
        .into_iter()
        .map(|function| Column {
            guard: spec.guards.iter().any(|g| g.probe == function),
            claims: (spec.claims.iter())
                .filter(|c| c.probes.contains(&function))
                .map(|c| c.id.clone())
                .collect(),
            function,
        })
        .collect()
}

/// `how`: the strongest of all runs, where it is known.
pub(super) fn mark(worst: Outcome, how: Option<How>) -> GridMark {
    match worst {
        Outcome::Passed => GridMark::Passed,
        Outcome::Failed | Outcome::Error => GridMark::Rejects(how.unwrap_or(How::Error)),
        Outcome::Skipped | Outcome::Xfailed | Outcome::Xpassed => GridMark::Rejects(How::Skipped),
        Outcome::Timeout => GridMark::Rejects(How::Timeout),
        Outcome::Missing => GridMark::Rejects(How::Missing),
    }
}
