//! Gold on a suite, once or several times: what a calibration is made of.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::build::build;
use super::calibrate::empty;
use super::error::Stop;
use super::grade::Timer;
use super::ground::Ground;
use super::recorder::Recorder;
use super::run_suites::{Subjected, SuiteResult, one_suite};
use crate::domain::{
    CalibratedCase, Calibration, CaseId, CaseResult, CaseRun, Deviation, Level, Outcome, Stage,
    Subject, Suite, SuiteCalibration,
};

fn gold(ground: &Ground) -> Subjected {
    Subjected {
        subject: Subject::Gold,
        tree: ground.trees.gold,
        slot: 0,
    }
}

/// Builds gold, where the task has a build step.
pub(super) async fn build_gold(ground: &Ground, isolated: &Arc<AtomicBool>) -> Result<(), Stop> {
    let Some(spec) = &ground.task.spec.build else {
        return Ok(());
    };
    build(ground, &gold(ground), spec, isolated)
        .await?
        .map_err(|message| {
            Stop::Input(format!(
                "gold does not build, so nothing can be graded: {message}"
            ))
        })
}

/// A suite's calibration from so many runs of gold.
pub(super) async fn run_gold(
    ground: &Ground,
    suite: Suite,
    key: &str,
    runs: u32,
    recorder: &Recorder,
    isolated: &Arc<AtomicBool>,
) -> Result<Calibration, Stop> {
    let mut all = Vec::new();
    let mut deviations: Vec<Deviation> = Vec::new();
    for number in 1..=runs.max(1) {
        let timer = Timer::start(recorder, Stage::Calibrate, Subject::Gold);
        if runs > 1 {
            recorder.say(Level::Info, format!("{suite}: gold run {number} of {runs}"));
        }
        let (results, found) = gold_once(ground, suite, recorder, isolated).await?;
        all.push(results);
        if runs <= 1 && all.iter().flatten().any(|r| may_be_the_machines(r.outcome)) {
            let words = format!("{suite}: gold does not pass everything; it runs once more");
            recorder.say(Level::Info, words);
            let (again, _) = gold_once(ground, suite, recorder, isolated).await?;
            unlike(suite, &all[0], &again)?;
        }
        for deviation in found {
            if !deviations.iter().any(|known| known.same(&deviation)) {
                deviations.push(deviation);
            }
        }
        timer.stop();
    }
    let mut part = part(ground, suite, key, &all);
    part.deviations = Some(deviations);
    if part.passed() == 0 {
        // a judge that is content with nothing is none
        return Err(Stop::Input(format!(
            "gold passes no case of the {suite} suite ({} collected, {} skipped); correct [suites.{suite}] or the environment in task.toml",
            part.cases.len(),
            part.skipped().len()
        )));
    }
    Ok(Calibration {
        isolated: isolated.load(Ordering::Relaxed),
        suites: BTreeMap::from([(suite, part)]),
        ..empty(ground)
    })
}

/// Outcomes that a full disk, a busy machine or a neighbour can bring about.
fn may_be_the_machines(outcome: Outcome) -> bool {
    use Outcome::{Error, Failed, Missing, Timeout};
    matches!(outcome, Failed | Error | Timeout | Missing)
}

/// A single run is believed where a second one says the same: what a passing fault of the machine
/// makes gold fail would never be asked of a submission again.
fn unlike(suite: Suite, first: &[CaseResult], again: &[CaseResult]) -> Result<(), Stop> {
    let both = merge(&[first.to_vec(), again.to_vec()]);
    let differ: Vec<&str> = both
        .iter()
        .filter(|case| case.flaky())
        .map(|case| case.id.0.as_str())
        .collect();
    let Some(one) = differ.first() else {
        return Ok(());
    };
    Err(Stop::Fault(format!(
        "gold says two things about {} cases of the {suite} suite in two runs ({one}{}): a calibration of one run would hide it; look at the machine, or put flaky cases on record (`infradev calibrate TASK --runs 3`)",
        differ.len(),
        if differ.len() > 1 { ", …" } else { "" }
    )))
}

/// Gold on a suite: its cases, and what it exchanged in the process that reports.
pub(super) async fn gold_once(
    ground: &Ground,
    suite: Suite,
    recorder: &Recorder,
    isolated: &Arc<AtomicBool>,
) -> Result<(Vec<CaseResult>, Vec<Deviation>), Stop> {
    let (gold, none) = (gold(ground), empty(ground));
    let ran = one_suite(ground, &gold, suite, &none, &[], recorder, isolated).await?;
    // what a GPU that went left behind is no calibration
    ground.gpus_answer().await?;
    gold_results(suite, ran)
}

/// What gold's runs of a suite say together.
pub(super) fn part(
    ground: &Ground,
    suite: Suite,
    key: &str,
    all: &[Vec<CaseResult>],
) -> SuiteCalibration {
    let spec = ground.task.spec.suites.get(suite);
    SuiteCalibration {
        key: key.into(),
        ranks: spec.map_or(1, |s| s.ranks.max(1)),
        runs: all.len() as u32,
        duration_s: all
            .iter()
            .map(|run| run.iter().map(|r| r.duration_s).sum())
            .fold(0.0, f64::max),
        cases: merge(all),
        deviations: None,
    }
}

fn gold_results(suite: Suite, ran: SuiteResult) -> Result<(Vec<CaseResult>, Vec<Deviation>), Stop> {
    match ran {
        SuiteResult::Ran {
            results,
            discrepancies: 0,
            ..
        } if results.is_empty() => Err(Stop::Input(format!(
            "gold collects no case of the {suite} suite; correct [suites.{suite}] in task.toml"
        ))),
        SuiteResult::Ran {
            results,
            discrepancies: 0,
            deviations,
            ..
        } => Ok((results, deviations)),
        SuiteResult::Ran { discrepancies, .. } => Err(Stop::Fault(format!(
            "gold's reports on the {suite} suite disagree {discrepancies} times (see the run's log), so they cannot calibrate"
        ))),
        SuiteResult::Environment(message) => Err(Stop::Input(format!(
            "the environment cannot run the {suite} suite: {message}"
        ))),
    }
}

/// Gold's runs case by case, in the order in which cases were first collected; one that a run did
/// not collect is missing there.
fn merge(runs: &[Vec<CaseResult>]) -> Vec<CalibratedCase> {
    let mut order: Vec<&CaseId> = Vec::new();
    let mut seen = HashSet::new();
    for result in runs.iter().flatten() {
        if seen.insert(&result.id) {
            order.push(&result.id);
        }
    }
    let by_id: Vec<HashMap<&CaseId, &CaseResult>> = runs
        .iter()
        .map(|run| run.iter().map(|r| (&r.id, r)).collect())
        .collect();
    order
        .into_iter()
        .filter_map(|id| {
            let each = by_id.iter().map(|run| {
                run.get(id).map_or(
                    CaseRun {
                        outcome: Outcome::Missing,
                        duration_s: 0.0,
                    },
                    |r| CaseRun {
                        outcome: r.outcome,
                        duration_s: r.duration_s,
                    },
                )
            });
            CalibratedCase::of(id.clone(), each.collect())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::Phase;

    fn run(outcomes: &[Outcome]) -> Vec<CaseResult> {
        let case = |(at, outcome): (usize, &Outcome)| CaseResult {
            id: CaseId(format!("tests/test_a.py::test_{at}")),
            outcome: *outcome,
            phase: Phase::Call,
            duration_s: 0.1,
            ranks: Vec::new(),
            message: None,
            detail_offset: None,
        };
        outcomes.iter().enumerate().map(case).collect()
    }

    #[test]
    fn one_run_of_gold_is_believed_where_a_second_says_the_same() {
        use Outcome::{Failed, Passed, Skipped, Timeout};
        let same = run(&[Passed, Failed, Skipped]);
        assert!(unlike(Suite::Official, &same, &same).is_ok());
        let busy = run(&[Timeout, Failed, Skipped]);
        let Err(Stop::Fault(why)) = unlike(Suite::Official, &busy, &same) else {
            panic!("a passing fault of the machine is kept");
        };
        assert!(why.contains("test_0") && why.contains("--runs 3"), "{why}");
        // one that is not there the second time
        assert!(unlike(Suite::Official, &same, &same[..2]).is_err());
        assert!(!may_be_the_machines(Skipped) && may_be_the_machines(Timeout));
    }
}
