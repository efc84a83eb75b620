//! Counts, resolved and strict for both judges, and the verdict that follows.
//!
//! `C` is what gold collects, `G` what gold passes, `S` the cases of `C` that the submission
//! passes. Resolved: `|S| >= |G|`; strict: `G ⊆ S`. The joint judgement is resolved on the
//! official suite AND on the probes, each on its own counts (METHOD.md section 6).

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::domain::grade::Durations;
use crate::domain::{
    Badge, Calibration, CaseId, CaseResult, Cause, EngineKind, Evidence, Grade, GradedCase,
    Outcome, Phase, Suite, SuiteScore, Verdict, Weight,
};

/// Version of the judge; part of the key of every grade.
pub const JUDGE_VERSION: u32 = 4;

/// Everything a verdict rests on.
#[derive(Clone, Debug)]
pub struct Observed {
    pub task: String,
    pub run: String,
    pub engine: EngineKind,
    /// The suites that were asked for and that the task has.
    pub suites: Vec<Suite>,
    /// The task has no probe suite.
    pub unprobed: bool,
    /// Why nothing was run: the patch was refused or its build failed.
    pub refused: Option<(Cause, String)>,
    pub results: BTreeMap<Suite, Vec<CaseResult>>,
    /// Must-fail twins that were reported passed.
    pub twins_passed: Vec<CaseId>,
    /// Reports that contradict each other; the cases concerned are already `error`.
    pub discrepancies: usize,
    /// What the submission exchanged in the process that reports, and gold does not.
    pub evidence: Vec<Evidence>,
    /// Strong signs in its patch.
    pub signs: usize,
    pub isolated: bool,
    pub duration_s: Durations,
}

/// One suite, judged.
struct Judged {
    score: SuiteScore,
    resolved: bool,
    strict: bool,
    collection: bool,
    cases: Vec<GradedCase>,
}

/// Grades a submission against gold's calibration. Cases outside `C` count for nothing.
pub fn judge(observed: &Observed, calibration: &Calibration) -> Grade {
    let mut judged: BTreeMap<Suite, Judged> = BTreeMap::new();
    for suite in &observed.suites {
        judged.insert(*suite, judge_suite(*suite, observed, calibration));
    }
    let has = |weight| observed.evidence.iter().any(|e| e.weight == weight);
    let void = !observed.twins_passed.is_empty() || has(Weight::Void);
    let stands = observed.refused.is_none() && !void && !judged.is_empty();
    let all = |pick: fn(&Judged) -> bool| stands && judged.values().all(pick);
    let official =
        |pick: fn(&Judged) -> bool| stands && judged.get(&Suite::Official).is_some_and(pick);
    let resolved = all(|j| j.resolved);
    let resolved_official = official(|j| j.resolved);
    let verdict = match (void, resolved, resolved_official) {
        (true, _, _) => Verdict::Void,
        (_, true, _) => Verdict::Resolved,
        (_, _, true) => Verdict::OfficialOnly,
        _ => Verdict::Failed,
    };
    let cause = match (&observed.refused, void, resolved) {
        (Some((cause, _)), _, _) => Some(*cause),
        (_, true, _) => Some(Cause::Tampered),
        (_, _, true) => None,
        _ if judged.values().any(|j| j.collection) => Some(Cause::Collection),
        _ => Some(Cause::Cases),
    };
    let mut badges = Vec::new();
    if observed.unprobed || !observed.suites.contains(&Suite::Probes) {
        badges.push(Badge::Unprobed);
    }
    if !observed.isolated {
        badges.push(Badge::Unisolated);
    }
    if observed.discrepancies > 0 || observed.signs > 0 || has(Weight::Suspect) {
        badges.push(Badge::Suspect);
    }
    Grade {
        schema: 1,
        task: observed.task.clone(),
        run: observed.run.clone(),
        engine: observed.engine,
        verdict,
        badges,
        cause,
        resolved,
        resolved_strict: all(|j| j.strict),
        resolved_official,
        resolved_official_strict: official(|j| j.strict),
        suites: judged
            .iter()
            .map(|(suite, j)| {
                let mut score = j.score.clone();
                if void {
                    // tampered: score 0, in the denominator (METHOD.md section 1)
                    score.passed = 0;
                    score.score = 0.0;
                }
                (*suite, score)
            })
            .collect(),
        cases: judged.into_values().flat_map(|j| j.cases).collect(),
        duration_s: observed.duration_s,
    }
}

fn judge_suite(suite: Suite, observed: &Observed, calibration: &Calibration) -> Judged {
    let empty = crate::domain::SuiteCalibration::default();
    let gold = calibration.suites.get(&suite).unwrap_or(&empty);
    let results: HashMap<&CaseId, &CaseResult> = observed
        .results
        .get(&suite)
        .into_iter()
        .flatten()
        .map(|r| (&r.id, r))
        .collect();
    let mut passed: HashSet<&CaseId> = HashSet::new();
    let mut collection = false;
    let mut cases = Vec::with_capacity(gold.cases.len());
    for expected in &gold.cases {
        let result = results.get(&expected.id).copied();
        let outcome = result.map_or(Outcome::Missing, |r| r.outcome);
        if outcome.passed() {
            passed.insert(&expected.id);
        }
        collection |= outcome == Outcome::Missing
            || result.is_some_and(|r| r.phase == Phase::Collect && r.outcome == Outcome::Error);
        let message = match (&observed.refused, result) {
            (Some((_, why)), _) => Some(why.clone()),
            (None, Some(r)) => r.message.clone(),
            (None, None) => Some("never collected".into()),
        };
        cases.push(GradedCase {
            id: expected.id.clone(),
            suite,
            outcome,
            gold: expected.outcome,
            duration_s: result.map_or(0.0, |r| r.duration_s),
            ranks: result.map(|r| r.ranks.clone()).filter(|r| !r.is_empty()),
            message,
        });
    }
    let gold_passed = gold.passed();
    let collected = gold.cases.len();
    Judged {
        // where gold passes nothing there is nothing to pass
        resolved: gold_passed > 0 && passed.len() >= gold_passed,
        strict: gold_passed > 0
            && gold
                .cases
                .iter()
                .filter(|c| c.outcome.passed())
                .all(|c| passed.contains(&c.id)),
        collection,
        score: SuiteScore {
            ranks: gold.ranks,
            collected,
            gold_passed,
            passed: passed.len(),
            score: if collected == 0 {
                0.0
            } else {
                passed.len() as f64 / collected as f64
            },
        },
        cases,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::{CalibratedCase, SuiteCalibration};

    #[test]
    fn nothing_that_gold_passes_is_nothing_to_resolve() {
        let calibration = calibration(&[(Suite::Official, &[], 2)]);
        let grade = judge(&observed(&[(Suite::Official, &[], 2)]), &calibration);
        assert!(!grade.resolved && !grade.resolved_strict, "{grade:?}");
    }

    fn id(n: usize) -> CaseId {
        CaseId(format!("tests/test_a.py::test_{n}"))
    }

    fn calibration(suites: &[(Suite, &[usize], usize)]) -> Calibration {
        Calibration {
            schema: crate::domain::CALIBRATION_VERSION,
            task: "t".into(),
            created_s: 0.0,
            engine: EngineKind::Local,
            environment: "e".into(),
            machine: crate::domain::Machine::default(),
            isolated: true,
            suites: suites
                .iter()
                .map(|(suite, passed, n)| {
                    let cases = (1..=*n)
                        .map(|i| CalibratedCase {
                            id: id(i),
                            outcome: if passed.contains(&i) {
                                Outcome::Passed
                            } else {
                                Outcome::Failed
                            },
                            duration_s: 0.1,
                            runs: Vec::new(),
                        })
                        .collect();
                    (
                        *suite,
                        SuiteCalibration {
                            key: "k".into(),
                            ranks: 1,
                            runs: 1,
                            cases,
                            duration_s: 1.0,
                            deviations: None,
                        },
                    )
                })
                .collect(),
        }
    }

    fn observed(suites: &[(Suite, &[usize], usize)]) -> Observed {
        Observed {
            task: "t".into(),
            run: "r".into(),
            engine: EngineKind::Local,
            suites: suites.iter().map(|s| s.0).collect(),
            unprobed: suites.len() < 2,
            refused: None,
            results: suites
                .iter()
                .map(|(suite, passed, n)| {
                    let results = (1..=*n)
                        .map(|i| CaseResult {
                            id: id(i),
                            outcome: if passed.contains(&i) {
                                Outcome::Passed
                            } else {
                                Outcome::Failed
                            },
                            phase: Phase::Call,
                            duration_s: 0.1,
                            ranks: vec![],
                            message: None,
                            detail_offset: None,
                        })
                        .collect();
                    (*suite, results)
                })
                .collect(),
            twins_passed: vec![],
            discrepancies: 0,
            evidence: vec![],
            signs: 0,
            isolated: true,
            duration_s: Durations::default(),
        }
    }

    /// METHOD.md section 6: gold passes {1,2,3}, the agent {1,2,4}.
    #[test]
    fn resolved_and_strict_differ() {
        let grade = judge(
            &observed(&[(Suite::Official, &[1, 2, 4], 4)]),
            &calibration(&[(Suite::Official, &[1, 2, 3], 4)]),
        );
        assert!(grade.resolved && !grade.resolved_strict);
        assert!(grade.resolved_official && !grade.resolved_official_strict);
        assert_eq!(grade.verdict, Verdict::Resolved);
        assert_eq!(grade.badges, vec![Badge::Unprobed]);
    }

    /// METHOD.md section 6, R: an extra official pass must not pay for a failed probe.
    #[test]
    fn joint_is_judged_suite_by_suite() {
        let gold: Vec<usize> = (1..=11).collect();
        let all: Vec<usize> = (1..=12).collect();
        let nine: Vec<usize> = (1..=9).collect();
        let grade = judge(
            &observed(&[(Suite::Official, &all, 12), (Suite::Probes, &nine[..8], 9)]),
            &calibration(&[(Suite::Official, &gold, 12), (Suite::Probes, &nine, 9)]),
        );
        assert_eq!(grade.verdict, Verdict::OfficialOnly);
        assert_eq!(grade.cause, Some(Cause::Cases));
        assert!(!grade.resolved && grade.resolved_official && grade.resolved_official_strict);
        assert_eq!(grade.suites[&Suite::Official].passed, 12);
        assert!((grade.suites[&Suite::Probes].score - 8.0 / 9.0).abs() < 1e-12);
    }

    #[test]
    fn a_refused_patch_scores_zero_even_where_gold_passes_nothing() {
        let mut seen = observed(&[(Suite::Official, &[], 0)]);
        seen.refused = Some((Cause::Empty, "the patch is empty".into()));
        let grade = judge(&seen, &calibration(&[(Suite::Official, &[], 3)]));
        assert_eq!(
            (grade.verdict, grade.cause),
            (Verdict::Failed, Some(Cause::Empty))
        );
        assert!(!grade.resolved && !grade.resolved_strict);
        assert!(grade.cases.iter().all(|c| c.outcome == Outcome::Missing));
    }

    #[test]
    fn a_passed_twin_makes_the_grade_void_and_its_score_zero() {
        let mut seen = observed(&[(Suite::Official, &[1, 2], 2)]);
        seen.twins_passed = vec![id(1)];
        let grade = judge(&seen, &calibration(&[(Suite::Official, &[1, 2], 2)]));
        assert_eq!(
            (grade.verdict, grade.cause),
            (Verdict::Void, Some(Cause::Tampered))
        );
        assert_eq!(grade.suites[&Suite::Official].passed, 0);
        assert!(!grade.resolved && !grade.resolved_official);
    }

    #[test]
    fn what_was_exchanged_makes_it_void_or_suspect() {
        let gold = calibration(&[(Suite::Official, &[1], 1)]);
        let exchanged = |weight| {
            let mut seen = observed(&[(Suite::Official, &[1], 1)]);
            seen.evidence.push(Evidence {
                weight,
                deviation: crate::domain::Deviation {
                    area: crate::domain::Area::Pytest,
                    place: "_pytest.runner.CallInfo.from_call".into(),
                    file: "lib.py".into(),
                    name: "mine".into(),
                    line: 3,
                    digest: "d".into(),
                    case: None,
                },
            });
            judge(&seen, &gold)
        };
        let void = exchanged(Weight::Void);
        assert_eq!(
            (void.verdict, void.cause),
            (Verdict::Void, Some(Cause::Tampered))
        );
        assert!((void.suites[&Suite::Official].score).abs() < 1e-12);
        let suspect = exchanged(Weight::Suspect);
        assert_eq!(suspect.verdict, Verdict::Resolved);
        assert!(suspect.badges.contains(&Badge::Suspect));
        let mut signed = observed(&[(Suite::Official, &[1], 1)]);
        signed.signs = 1;
        assert!(judge(&signed, &gold).badges.contains(&Badge::Suspect));
    }

    #[test]
    fn missing_counts_against_and_extra_cases_count_for_nothing() {
        let grade = judge(
            &observed(&[(Suite::Official, &[1, 2, 4, 5], 5)]),
            &calibration(&[(Suite::Official, &[1, 2, 3], 3)]),
        );
        assert_eq!(grade.verdict, Verdict::Failed);
        assert_eq!(grade.suites[&Suite::Official].passed, 2);
        let mut short = observed(&[(Suite::Official, &[1], 1)]);
        short.results.get_mut(&Suite::Official).unwrap().truncate(1);
        let grade = judge(&short, &calibration(&[(Suite::Official, &[1, 2], 2)]));
        assert_eq!(grade.cause, Some(Cause::Collection));
        assert_eq!(grade.cases[1].outcome, Outcome::Missing);
    }
}
