//! The rule, the matrix, the lists.

use std::collections::{BTreeMap, BTreeSet};

use super::evidence::{PatchEvidence, collected, outcomes};
use super::findings::{claims, revise, warnings};
use super::hollow::{HollowStory, through_old};
use super::matrix::Functions;
use super::rules::Case;
use crate::domain::acceptance::{
    ACCEPTANCE_VERSION, Acceptance, GOLD_RUNS, PatchRow, Role, Rule, RuleVerdict, Standing,
};
use crate::domain::calibration::flake_bound;
use crate::domain::task::TaskSpec;
use crate::domain::{CaseId, EngineKind, Outcome, Suite};

/// Where and under what it was found.
#[derive(Clone, Debug)]
pub struct About {
    pub run: String,
    pub key: String,
    pub engine: EngineKind,
    pub environment: String,
    /// Of its sandboxes.
    pub image: Option<String>,
    pub gpu_type: Option<String>,
    pub created_s: f64,
    /// How often gold has to pass, one after the other.
    pub runs: u32,
    /// Processes of every suite, where others were asked for than the task's own.
    pub ranks: Option<u32>,
    /// None: it is not told by what probes reject hollow.
    pub hollow: Option<HollowStory>,
}

/// Judges a probe suite. The order of patches, runs and cases changes nothing but the order of
/// lists. Without gold among the patches nothing is accepted.
pub fn accept(spec: &TaskSpec, patches: &[PatchEvidence], about: &About) -> Acceptance {
    let nothing = PatchEvidence {
        role: Role::Gold,
        name: String::new(),
        claim: None,
        refused: None,
        runs: BTreeMap::new(),
        unasserted: BTreeSet::new(),
    };
    let gold = patches.iter().find(|p| p.role == Role::Gold);
    let gold = gold.unwrap_or(&nothing);
    let probes = collected(gold, Suite::Probes);
    let official = collected(gold, Suite::Official);
    let functions = Functions::of(spec, &probes);
    let rows: Vec<PatchRow> = patches
        .iter()
        .map(|patch| PatchRow {
            patch: patch.label(),
            role: patch.role,
            claim: patch.claim.clone(),
            refused: patch.refused.clone(),
            runs: patch.runs.values().map(Vec::len).max().unwrap_or(0) as u32,
            official: patch.passed(Suite::Official, &official),
            probes: patch.passed(Suite::Probes, &probes),
            rejected_by: functions.rejections(patch),
            outcomes: [(Suite::Official, &official), (Suite::Probes, &probes)]
                .into_iter()
                .map(|(suite, cases)| (suite, patch.marks(suite, cases)))
                .filter(|(_, marks)| !marks.is_empty())
                .collect(),
        })
        .collect();
    let runs = gold.by_case(Suite::Official);
    let passed = official
        .iter()
        .filter(|id| !runs.is_empty() && outcomes(&runs, id).all(Outcome::passed))
        .count();
    let case = Case {
        gold,
        hollow: patches.iter().find(|p| p.role == Role::Hollow),
        details: about
            .hollow
            .as_ref()
            .map_or(&[][..], |story| &story.details),
        functions: &functions,
        rows: &rows,
        runs: about.runs,
        official: passed,
    };
    let old = (about.hollow.as_ref())
        .map_or_else(Vec::new, |story| through_old(&functions, patches, story));
    let unread = about.hollow.as_ref().map_or(&[][..], |story| &story.unread);
    let unprobed = spec.suites.probes.is_none();
    let rules: Vec<RuleVerdict> = if unprobed {
        Vec::new()
    } else {
        Rule::ALL.iter().map(|rule| case.judge(*rule)).collect()
    };
    let standing = if unprobed {
        Standing::Unprobed
    } else if rules.iter().all(|r| r.holds) {
        Standing::Accepted
    } else {
        Standing::Rejected
    };
    let cases = [(Suite::Official, &official), (Suite::Probes, &probes)].into_iter();
    let cases = cases.map(|(suite, ids)| (suite, ids.iter().copied().cloned().collect()));
    let provisional = (!unprobed && about.runs < GOLD_RUNS).then(|| {
        format!(
            "gold ran {} of {GOLD_RUNS} times: nothing is recorded with the task",
            about.runs
        )
    });
    Acceptance {
        provisional,
        digest: String::new(),
        image: about.image.clone(),
        gpu_type: about.gpu_type.clone(),
        cases: cases
            .filter(|(_, ids): &(Suite, Vec<CaseId>)| !ids.is_empty())
            .collect(),
        schema: ACCEPTANCE_VERSION,
        task: spec.id.clone(),
        run: about.run.clone(),
        standing,
        key: about.key.clone(),
        engine: about.engine,
        environment: about.environment.clone(),
        created_s: about.created_s,
        runs: about.runs,
        ranks: about.ranks,
        flake_bound: flake_bound(about.runs),
        claims: claims(spec, &functions, &rows),
        revise: revise(spec, &functions, &rows, passed),
        warnings: warnings(spec, &functions, gold, &rows, &old, unread),
        hollow_needs: (about.hollow.as_ref()).map_or_else(Vec::new, |story| story.needs.clone()),
        earlier: Vec::new(),
        rules,
        patches: rows,
    }
}
