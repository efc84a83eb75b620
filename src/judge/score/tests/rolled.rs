//! Runs as dice make them, graded by the judge.

use std::collections::{BTreeMap, HashMap};

use proptest::prelude::*;

use crate::domain::grade::Durations;
use crate::domain::{
    CALIBRATION_VERSION, CalibratedCase, Calibration, CaseId, CaseResult, Cause, EngineKind, Grade,
    Machine, Outcome, Phase, Suite, SuiteCalibration,
};
use crate::judge::score::*;
use crate::judge::{Observed, judge};

/// One suite: gold's outcomes and the submission's, case by case.
pub(super) type Cases = Vec<(bool, bool)>;

/// A run as it is rolled: task, configuration, official, probes, what happened to it.
#[derive(Clone, Debug)]
pub(super) struct Rolled {
    pub(super) task: usize,
    pub(super) configuration: usize,
    pub(super) official: Cases,
    pub(super) probes: Option<Cases>,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum What {
    Plain,
    Void,
    Suspect,
    Refused,
    Fault,
    Unfinished,
}

pub(super) fn cases() -> impl Strategy<Value = Cases> {
    // gold passes the first, or the suite judges nothing
    prop::collection::vec(any::<(bool, bool)>(), 1..6).prop_map(|mut cases| {
        cases[0].0 = true;
        cases
    })
}

pub(super) fn rolled() -> impl Strategy<Value = Rolled> {
    let what = prop_oneof![
        6 => Just(What::Plain),
        1 => Just(What::Void),
        1 => Just(What::Suspect),
        1 => Just(What::Refused),
        1 => Just(What::Fault),
        1 => Just(What::Unfinished),
    ];
    let parts = (0..6_usize, 0..4_usize, cases(), cases(), what);
    parts.prop_map(|(task, configuration, official, probes, what)| Rolled {
        task,
        configuration,
        official,
        // every third task is unprobed
        probes: (task % 3 != 0).then_some(probes),
        what,
    })
}

pub(super) fn runs() -> impl Strategy<Value = Vec<Rolled>> {
    prop::collection::vec(rolled(), 0..40)
}

pub(super) fn id(at: usize) -> CaseId {
    CaseId(format!("t.py::c{at}"))
}

pub(super) fn outcome(passed: bool) -> Outcome {
    if passed {
        Outcome::Passed
    } else {
        Outcome::Failed
    }
}

pub(super) fn calibration(suites: &BTreeMap<Suite, &Cases>) -> Calibration {
    let part = |cases: &Cases| SuiteCalibration {
        key: "k".into(),
        ranks: 1,
        runs: 1,
        duration_s: 1.0,
        deviations: None,
        cases: (cases.iter().enumerate())
            .map(|(at, (gold, _))| CalibratedCase {
                id: id(at),
                outcome: outcome(*gold),
                duration_s: 0.1,
                runs: Vec::new(),
            })
            .collect(),
    };
    Calibration {
        schema: CALIBRATION_VERSION,
        task: "t".into(),
        created_s: 0.0,
        engine: EngineKind::Local,
        environment: "e".into(),
        machine: Machine::default(),
        isolated: true,
        suites: suites.iter().map(|(s, cases)| (*s, part(cases))).collect(),
    }
}

/// The judge's grade of a run, and the run recounted beside it.
pub(super) fn graded(
    rolled: &Rolled,
    run: &str,
    task: &str,
) -> (Grade, Result<Counted, (LeftOut, String)>) {
    graded_as(rolled, run, task, &|_| {})
}

/// The same with a grade that is changed before the recount.
pub(super) fn graded_as(
    rolled: &Rolled,
    run: &str,
    task: &str,
    change: &dyn Fn(&mut Grade),
) -> (Grade, Result<Counted, (LeftOut, String)>) {
    let mut suites = BTreeMap::from([(Suite::Official, &rolled.official)]);
    suites.extend(rolled.probes.as_ref().map(|p| (Suite::Probes, p)));
    let gold = calibration(&suites);
    let refused = rolled.what == What::Refused;
    let results = |cases: &Cases| -> Vec<CaseResult> {
        let all = cases.iter().enumerate().filter(|_| !refused);
        all.map(|(at, (_, passed))| CaseResult {
            id: id(at),
            outcome: outcome(*passed),
            phase: Phase::Call,
            duration_s: 0.1,
            ranks: Vec::new(),
            message: None,
            detail_offset: None,
        })
        .collect()
    };
    let observed = Observed {
        task: task.into(),
        run: run.into(),
        engine: EngineKind::Local,
        suites: suites.keys().copied().collect(),
        unprobed: rolled.probes.is_none(),
        refused: refused.then(|| (Cause::Empty, "empty".into())),
        results: suites.iter().map(|(s, c)| (*s, results(c))).collect(),
        twins_passed: (rolled.what == What::Void)
            .then(|| id(0))
            .into_iter()
            .collect(),
        discrepancies: usize::from(rolled.what == What::Suspect),
        evidence: vec![],
        signs: 0,
        isolated: true,
        duration_s: Durations::default(),
    };
    let mut grade = judge(&observed, &gold);
    change(&mut grade);
    let outcomes = |cases: &Vec<CaseResult>| -> Vec<(CaseId, Outcome)> {
        cases.iter().map(|c| (c.id.clone(), c.outcome)).collect()
    };
    let seen: BTreeMap<Suite, Vec<(CaseId, Outcome)>> = (observed.results.iter())
        .map(|(suite, cases)| (*suite, outcomes(cases)))
        .collect();
    let evidence = Evidence {
        task,
        run,
        suites: (seen.iter())
            .map(|(suite, cases)| {
                let own: HashMap<&CaseId, Outcome> = cases.iter().map(|(i, o)| (i, *o)).collect();
                (*suite, (&gold, own))
            })
            .collect(),
        tampered: rolled.what == What::Void,
        disagreed: rolled.what == What::Suspect,
        badges: Vec::new(),
        grade: &grade,
    };
    let counted = recount(&evidence);
    (grade, counted)
}

pub(super) fn read(at: usize, rolled: &Rolled) -> RunRead {
    let (run, task) = (format!("r{at:03}"), format!("t{}", rolled.task));
    let standing = match rolled.what {
        What::Fault => Standing::Fault("disk".into()),
        What::Unfinished => Standing::LeftOut(LeftOut::Unfinished, "interrupted".into()),
        _ => Standing::Counted(Box::new(graded(rolled, &run, &task).1.unwrap())),
    };
    RunRead {
        origin: run.clone(),
        run,
        task: Some(task),
        configuration: Some(Configuration {
            model: Some(format!("m{}", rolled.configuration)),
            ..Configuration::default()
        }),
        keys: "k".into(),
        version: None,
        created_s: at as f64,
        standing,
    }
}

pub(super) fn facts() -> BTreeMap<String, TaskFacts> {
    (0..6)
        .map(|at| {
            let facts = TaskFacts {
                area: Some(["training", "rl", "inference"][at % 3].into()),
                repository: (at != 5).then(|| format!("a/r{}", at % 2)),
                kind: Some("feature".into()),
                gpus: Some((at % 4).to_string()),
            };
            (format!("t{at}"), facts)
        })
        .collect()
}

pub(super) fn scored(runs: &[Rolled]) -> Score {
    let reads: Vec<RunRead> = runs.iter().enumerate().map(|(at, r)| read(at, r)).collect();
    score(&reads, &facts(), None).unwrap()
}

pub(super) fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}
