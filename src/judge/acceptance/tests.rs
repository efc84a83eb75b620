#![allow(clippy::unwrap_used)]
mod hollow;
mod told;

use std::collections::{BTreeMap, BTreeSet};

use super::{About, HollowStory, MutationAbout, PatchEvidence, accept, mutation};
use crate::domain::acceptance::Passed;
use crate::domain::acceptance::{Acceptance, FindingKind, How, Role, Rule, Standing};
use crate::domain::case::{Phase, RankOutcome};
use crate::domain::mutation::{GradedMutant, MutantResult, Mutation};
use crate::domain::task::TaskSpec;
use crate::domain::{CaseId, CaseResult, Cause, EngineKind, Outcome, Suite};

const TASK: &str = r#"
schema = 1
id = "t"
title = "t"
area = "training"
kind = "feature"
repository = "t/t"
[source]
base = "base"
[gold]
patch = "gold.patch"
[environment]
kind = "host"
[suites.official]
from = "official"
into = "tests"
[suites.probes]
from = "probes"
into = "probes"
[[claims]]
id = "C1"
text = "one"
kind = "behaviour"
oracles = ["direct", "property"]
probes = ["probes/test_p.py::test_one"]
[[claims]]
id = "C2"
text = "two"
kind = "behaviour"
oracles = ["direct", "property"]
probes = ["probes/test_p.py::test_two"]
[[guards]]
probe = "probes/test_p.py::test_guard"
why = "worked before"
[[adversarial]]
name = "bad-one"
claim = "C1"
patch = "a.patch"
[[adversarial]]
name = "bad-two"
claim = "C2"
patch = "b.patch"
"#;

fn case(id: &str, outcome: Outcome, message: &str) -> CaseResult {
    CaseResult {
        id: CaseId(id.into()),
        outcome,
        phase: Phase::Call,
        duration_s: 0.1,
        ranks: Vec::new(),
        message: (!message.is_empty()).then(|| message.into()),
        detail_offset: None,
    }
}

/// Outcomes of `test_one[a]`, `test_one[b]`, `test_two`, `test_guard`: `.` passed, `F` an
/// assertion, `E` an error, `H` hollow's, `s` skipped, `-` missing.
fn probes(marks: &str) -> Vec<CaseResult> {
    let ids = ["test_one[a]", "test_one[b]", "test_two", "test_guard"];
    let mut all = Vec::new();
    for (id, mark) in ids.iter().zip(marks.chars()) {
        let id = format!("probes/test_p.py::{id}");
        all.push(match mark {
            '.' => case(&id, Outcome::Passed, ""),
            'F' => case(&id, Outcome::Failed, "assert 1 == 2"),
            'E' => case(&id, Outcome::Failed, "TypeError: no"),
            'H' => case(&id, Outcome::Failed, "rank 1: NotImplementedError: hollow"),
            's' => case(&id, Outcome::Skipped, "not here"),
            _ => continue,
        });
    }
    all
}

fn patch(role: Role, name: &str, official: usize, runs: &[&str]) -> PatchEvidence {
    let claim = match name {
        "bad-one" => Some("C1".into()),
        "bad-two" => Some("C2".into()),
        _ => None,
    };
    let tests = |passed: usize| -> Vec<CaseResult> {
        (0..3)
            .map(|n| {
                let outcome = if n < passed {
                    Outcome::Passed
                } else {
                    Outcome::Failed
                };
                case(&format!("tests/test_o.py::t{n}"), outcome, "")
            })
            .collect()
    };
    PatchEvidence {
        role,
        name: name.into(),
        claim,
        refused: None,
        unasserted: BTreeSet::new(),
        runs: BTreeMap::from([
            (
                Suite::Official,
                runs.iter().map(|_| tests(official)).collect(),
            ),
            (
                Suite::Probes,
                runs.iter().map(|marks| probes(marks)).collect(),
            ),
        ]),
    }
}

/// A task whose probes are as they should be.
fn good() -> Vec<PatchEvidence> {
    vec![
        patch(Role::Gold, "", 3, &["....", "....", "...."]),
        patch(Role::Base, "", 0, &["FFE."]),
        patch(Role::Hollow, "", 1, &["HFH."]),
        patch(Role::Adversarial, "bad-one", 3, &["F..."]),
        patch(Role::Adversarial, "bad-two", 3, &["..F."]),
        patch(Role::Alternative, "other", 3, &["...."]),
    ]
}

fn about() -> About {
    About {
        run: "r".into(),
        key: "k".into(),
        engine: EngineKind::Local,
        environment: "e".into(),
        image: None,
        gpu_type: None,
        created_s: 0.0,
        runs: 3,
        ranks: None,
        hollow: Some(HollowStory::default()),
    }
}

fn judged(patches: &[PatchEvidence]) -> Acceptance {
    let spec: TaskSpec = toml::from_str(TASK).unwrap();
    accept(&spec, patches, &about())
}

/// What breaks when one patch does something else.
fn with(at: usize, other: PatchEvidence) -> (Acceptance, Vec<Rule>) {
    let mut patches = good();
    patches[at] = other;
    let made = judged(&patches);
    let broken = made.broken().map(|r| r.rule).collect();
    (made, broken)
}

#[test]
fn what_is_as_it_should_be_is_accepted_without_a_word() {
    let made = judged(&good());
    assert_eq!(made.standing, Standing::Accepted);
    assert_eq!((made.revise, made.warnings), (vec![], vec![]));
    assert!((made.flake_bound - 0.632).abs() < 0.001);
    let bad = &made.patches[3];
    assert_eq!((bad.how(), bad.by_its_claim()), (Some(How::Assertion), 1));
    assert_eq!(
        bad.rejected_by[0].case.as_str(),
        "probes/test_p.py::test_one[a]"
    );
}

#[test]
fn each_part_of_the_rule_breaks_on_its_own_evidence() {
    let gold = |runs: &[&str]| with(0, patch(Role::Gold, "", 3, runs)).1;
    assert_eq!(gold(&["....", "....", "..F."]), [Rule::GoldPasses]);
    assert_eq!(gold(&["....", "...."]), [Rule::GoldPasses]);
    assert_eq!(gold(&["....", "....", "...s"]), [Rule::GoldPasses]);
    assert_eq!(gold(&["....", "....", ".-.."]), [Rule::GoldPasses]);

    let (made, broken) = with(1, patch(Role::Base, "", 0, &["FF.."]));
    assert_eq!(broken, [Rule::BaseRejected]);
    assert_eq!(
        made.rules[1].evidence,
        ["probes/test_p.py::test_two accepts base"]
    );
    assert_eq!(
        with(1, patch(Role::Base, "", 0, &["FFEF"])).1,
        [Rule::GuardsHold]
    );
    assert_eq!(
        with(2, patch(Role::Hollow, "", 0, &["..E."])).1,
        [Rule::HollowRejected]
    );
    // one parameter set that rejects is enough
    assert_eq!(with(2, patch(Role::Hollow, "", 0, &[".EE."])).1, []);

    let (made, broken) = with(3, patch(Role::Adversarial, "bad-one", 3, &["...."]));
    assert_eq!(broken, [Rule::AdversarialRejected]);
    assert_eq!(made.revise[0].kind, FindingKind::Survivor);
    assert_eq!(made.revise[0].subject, "adversarial/bad-one");
    // a guard counts for nothing
    let by_guard = with(3, patch(Role::Adversarial, "bad-one", 3, &["...F"])).1;
    assert_eq!(by_guard, [Rule::AdversarialRejected]);

    let (made, broken) = with(3, patch(Role::Adversarial, "bad-one", 2, &["F..."]));
    assert_eq!(broken, [Rule::AdversarialOfficial]);
    assert_eq!(made.revise[0].kind, FindingKind::OfficialBelowGold);

    let (made, broken) = with(5, patch(Role::Alternative, "other", 3, &["..F."]));
    assert_eq!(broken, [Rule::AlternativesAccepted]);
    assert_eq!(made.revise[0].kind, FindingKind::RejectsAlternative);
    assert_eq!(made.revise[0].subject, "probes/test_p.py::test_two");
}

#[test]
fn attribution_only_warns() {
    let kinds = |made: &Acceptance| -> Vec<FindingKind> {
        assert_eq!(made.standing, Standing::Accepted);
        made.warnings.iter().map(|w| w.kind).collect()
    };
    let (made, _) = with(3, patch(Role::Adversarial, "bad-one", 3, &["E..."]));
    assert_eq!(kinds(&made), [FindingKind::OnlyByCrash]);
    let (made, _) = with(3, patch(Role::Adversarial, "bad-one", 3, &["..F."]));
    assert_eq!(
        kinds(&made),
        [FindingKind::OtherClaim, FindingKind::RejectsNothing]
    );
    assert_eq!(made.claims[0].also, ["C2"]);
    assert_eq!(
        (made.claims[0].tried.len(), made.claims[0].rejected.len()),
        (1, 0)
    );
}

#[test]
fn what_cannot_be_tried_is_no_rejection() {
    let mut refused = patch(Role::Adversarial, "bad-one", 0, &[]);
    refused.runs.clear();
    refused.refused = Some((Cause::Apply, "hunk 1".into()));
    let (made, broken) = with(3, refused);
    assert_eq!(broken, [Rule::AdversarialRejected]);
    assert_eq!(made.revise[0].kind, FindingKind::DoesNotApply);
    // nor is a missing hollow patch, nor no gold
    let without = |at: usize| {
        let mut patches = good();
        patches.remove(at);
        judged(&patches).standing
    };
    assert_eq!(without(2), Standing::Rejected);
    assert_eq!(without(0), Standing::Rejected);
}

#[test]
fn a_probe_that_gold_does_not_collect_and_no_probes_at_all() {
    let (made, broken) = with(0, patch(Role::Gold, "", 3, &[".. .", ".. .", ".. ."]));
    // and what only it rejected survives
    assert_eq!(broken, [Rule::GoldPasses, Rule::AdversarialRejected]);
    let evidence = &made.rules[0].evidence;
    assert!(
        evidence[0].ends_with("test_two: gold does not collect it"),
        "{evidence:?}"
    );
    let mut spec: TaskSpec = toml::from_str(TASK).unwrap();
    spec.suites.probes = None;
    let made = accept(&spec, &good(), &about());
    assert_eq!((made.standing, made.rules.len()), (Standing::Unprobed, 0));
}

#[test]
fn an_assertion_on_one_rank_is_what_the_case_failed_by() {
    let mut waits = case("p", Outcome::Timeout, "rank 1: no end within 20 s");
    waits.ranks = vec![
        RankOutcome {
            rank: 0,
            outcome: Outcome::Failed,
            message: Some("AssertionError: sums differ".into()),
        },
        RankOutcome {
            rank: 1,
            outcome: Outcome::Timeout,
            message: None,
        },
    ];
    assert_eq!(super::matrix::how(&waits), How::Assertion);
    waits.ranks.clear();
    assert_eq!(super::matrix::how(&waits), How::Timeout);
    let told = |message: &str| super::matrix::how(&case("p", Outcome::Failed, message));
    assert_eq!(told("rank 1: assert [1] == [2]"), How::Assertion);
    assert_eq!(
        told("Failed: DID NOT RAISE <class 'ValueError'>"),
        How::Assertion
    );
    assert_eq!(told("NotImplementedError: assert nothing"), How::Error);
}

fn graded(marks: &str, patches: &[PatchEvidence]) -> Mutation {
    let spec: TaskSpec = toml::from_str(&format!("{TASK}{marks}")).unwrap();
    let mutants = patches.iter().filter(|p| p.role == Role::Mutant);
    let mutants = mutants.map(|p| GradedMutant {
        name: p.name.clone(),
        operator: "drop-branch".into(),
        path: "a.py".into(),
        function: String::new(),
        line: 1,
        summary: String::new(),
        result: MutantResult::Survives,
        official: Passed { passed: 0, of: 0 },
        refused: None,
        killed_by: Vec::new(),
        guards: Vec::new(),
        equivalent: None,
    });
    let about = MutationAbout {
        run: "r".into(),
        engine: EngineKind::Local,
        environment: "e".into(),
        created_s: 0.0,
    };
    mutation(&spec, mutants.collect(), patches, &about)
}

#[test]
fn a_mutant_is_rejected_killed_equivalent_or_survives() {
    let mut builds_not = patch(Role::Mutant, "builds-not", 0, &[]);
    builds_not.refused = Some((Cause::Build, "no".into()));
    let patches = [
        patch(Role::Gold, "", 3, &["...."]),
        patch(Role::Mutant, "below", 2, &["...."]),
        builds_not,
        patch(Role::Mutant, "caught", 3, &[".E.F"]),
        patch(Role::Mutant, "guarded", 3, &["...F"]),
        patch(Role::Mutant, "same", 3, &["...."]),
    ];
    let mark = |name: &str| format!("[[equivalent]]\nmutant = \"{name}\"\nwhy = \"w\"\n");
    let marks = ["below", "caught", "same", "gone"].map(mark).concat();
    let made = graded(&marks, &patches);
    let results: Vec<MutantResult> = made.mutants.iter().map(|m| m.result).collect();
    assert_eq!(
        results,
        [
            MutantResult::OfficialRejects,
            MutantResult::OfficialRejects,
            MutantResult::Killed,
            MutantResult::Survives,
            MutantResult::Equivalent,
        ]
    );
    // a guard kills nothing, and is named
    assert_eq!(made.mutants[3].guards, ["probes/test_p.py::test_guard"]);
    let by: Vec<_> = made.mutants[2]
        .killed_by
        .iter()
        .map(|k| (k.function.as_str(), k.how))
        .collect();
    assert_eq!(by, [("probes/test_p.py::test_one", How::Error)]);
    // the equivalent one is nobody's to kill
    assert_eq!((made.counts.judged(), made.score), (2, Some(0.5)));
    let wrong: Vec<&str> = made.wrong_marks.iter().map(|w| w.mutant.as_str()).collect();
    assert_eq!(wrong, ["below", "caught", "gone"]);
    // nothing to kill is no score of 0
    assert_eq!(graded("", &patches[..2]).score, None);
}

#[test]
fn without_gold_nothing_of_a_mutant_is_known() {
    let made = graded("", &[patch(Role::Mutant, "m", 3, &["...."])]);
    assert_eq!(made.mutants[0].result, MutantResult::OfficialRejects);
}
