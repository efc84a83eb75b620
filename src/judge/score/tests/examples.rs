//! The method's own examples, and single cases.

use std::collections::{BTreeMap, HashSet};

use super::rolled::*;
use crate::domain::{Badge, CaseId, Suite, SuiteCalibration, Verdict};
use crate::judge::score::*;

/// METHOD.md section 6: 10/10 and 50/100 give 75 % over tasks, pooled 54.5 %.
#[test]
fn macro_is_no_pooled_ratio() {
    let all = |passed: usize, of: usize| (0..of).map(|at| (true, at < passed)).collect();
    let run = |task, official| Rolled {
        task,
        configuration: 0,
        official,
        probes: None,
        what: What::Plain,
    };
    let score = scored(&[run(0, all(10, 10)), run(3, all(50, 100))]);
    let means = &score.total.all.official.score;
    assert!(close(means.macro_mean.unwrap(), 0.75));
    assert!((means.pooled.unwrap() - 0.545).abs() < 5e-4);
}

/// METHOD.md section 6, R: gold 11/12 + 9/9, submission 12/12 + 8/9: an extra official pass pays
/// for a failed probe on the union alone.
#[test]
fn the_union_is_no_joint_judgement() {
    let run = Rolled {
        task: 1,
        configuration: 0,
        official: (0..12).map(|at| (at < 11, true)).collect(),
        probes: Some((0..9).map(|at| (true, at < 8)).collect()),
        what: What::Plain,
    };
    let (_, counted) = graded(&run, "r", "t");
    let counted = counted.unwrap();
    assert!(counted.official.resolved && !counted.joint.resolved && counted.resolved_pooled);
    assert_eq!(counted.verdict, Verdict::OfficialOnly);
    assert_eq!((counted.joint.passed, counted.joint.gold_passed), (20, 20));
}

/// METHOD.md section 6: gold passes {1,2,3}, the agent {1,2,4}.
#[test]
fn tasks_on_which_strict_differs_are_listed() {
    let run = Rolled {
        task: 0,
        configuration: 0,
        official: vec![(true, true), (true, true), (true, false), (false, true)],
        probes: None,
        what: What::Plain,
    };
    let score = scored(&[run]);
    assert_eq!(score.total.all.official.resolved.count, 1);
    assert_eq!(score.total.all.official.strict.count, 0);
    assert!(score.total.strict_differs.official.contains("t0"));
}

#[test]
fn what_judges_nothing_is_invalid_and_never_resolved() {
    let passed: HashSet<&CaseId> = HashSet::new();
    let none = SuiteCalibration::default();
    assert_eq!(Count::of(&none, &passed, true), None);
    let suites = vec![(false, true)];
    let gold = calibration(&BTreeMap::from([(Suite::Official, &suites)]));
    assert_eq!(
        Count::of(&gold.suites[&Suite::Official], &passed, true),
        None
    );
    let run = Rolled {
        task: 0,
        configuration: 0,
        official: vec![(false, true)],
        probes: None,
        what: What::Plain,
    };
    let (_, counted) = graded(&run, "r", "t");
    assert_eq!(counted.unwrap_err().0, LeftOut::Invalid);
}

#[test]
fn suspects_are_in_one_total_and_not_in_the_other() {
    let run = |what| Rolled {
        task: 1,
        configuration: 0,
        official: vec![(true, true)],
        probes: Some(vec![(true, true)]),
        what,
    };
    let score = scored(&[run(What::Plain), run(What::Suspect)]);
    assert_eq!(score.total.all.joint.resolved.count, 2);
    assert_eq!(score.total.without_suspects.joint.resolved.of, 1);
    assert_eq!(score.total.badges[Badge::Suspect.name()], 1);
}

#[test]
fn weights_are_held_against_what_there_is() {
    let run = |task, configuration| Rolled {
        task,
        configuration,
        official: vec![(
            true,
            task == 0 && configuration == 0 || task == 1 && configuration == 1,
        )],
        probes: (task % 3 != 0).then(|| vec![(true, true)]),
        what: What::Plain,
    };
    // t0 and t3 are of training, t1 is of rl; one configuration solves t0, the other t1
    let runs: Vec<Rolled> = [(0, 0), (3, 0), (1, 0), (0, 1), (3, 1), (1, 1)]
        .map(|(task, of)| run(task, of))
        .into();
    let reads: Vec<RunRead> = runs.iter().enumerate().map(|(at, r)| read(at, r)).collect();
    let weigh = |weights: &[(&str, f64)]| {
        let weights = Weights {
            by: Dimension::Area,
            weights: weights.iter().map(|(a, w)| ((*a).to_owned(), *w)).collect(),
        };
        score(&reads, &facts(), Some(&weights)).map(|s| (s.ranking, s.weighted.unwrap()))
    };
    let (before, after) = weigh(&[("training", 1.0), ("rl", 1.0)]).unwrap();
    assert_eq!((before[0].rank, before[1].rank), (1, 1));
    assert!(after.ranking_changes);
    let ranks: Vec<_> = after
        .ranking
        .iter()
        .map(|r| (r.rank, r.configuration))
        .collect();
    assert_eq!(ranks, [(1, 1), (2, 0)]);
    assert!(close(after.ranking[0].rate, 0.5) && close(after.ranking[1].rate, 0.25));
    let wrong = |weights: &[(&str, f64)]| weigh(weights).unwrap_err();
    assert!(matches!(
        wrong(&[("training", 1.0)]),
        WeightsError::Unweighted { .. }
    ));
    let unknown = wrong(&[("training", 1.0), ("rl", 1.0), ("inferense", 1.0)]);
    assert!(matches!(unknown, WeightsError::Unknown { .. }));
    assert!(matches!(
        wrong(&[("training", -1.0), ("rl", 1.0)]),
        WeightsError::Negative(_)
    ));
    assert_eq!(
        wrong(&[("training", 0.0), ("rl", 0.0)]),
        WeightsError::Nothing
    );
}
