//! What holds for any set of runs.

use proptest::prelude::*;

use super::rolled::*;
use crate::domain::{Grade, Verdict};
use crate::judge::score::*;

/// The parts' figures, weighted by their shares, are the whole's.
fn adds_up(parts: &[Slice], whole: &Headline) {
    let runs: usize = parts.iter().map(|p| p.runs).sum();
    let tasks: usize = parts.iter().map(|p| p.tasks).sum();
    assert_eq!((runs, tasks), (whole.runs, whole.tasks));
    if runs == 0 {
        return;
    }
    let counts: [fn(&Headline) -> usize; 8] = [
        |h| h.official.resolved.count,
        |h| h.official.strict.count,
        |h| h.joint.resolved.count,
        |h| h.joint.strict.count,
        |h| h.resolved_pooled.count,
        |h| h.joint.score.passed,
        |h| h.joint.score.collected,
        |h| h.probes.collected,
    ];
    for count in counts {
        let sum: usize = parts.iter().map(|p| count(&p.headline)).sum();
        assert_eq!(sum, count(whole));
    }
    let of_runs: [fn(&Headline) -> Option<f64>; 4] = [
        |h| h.official.resolved.rate,
        |h| h.joint.resolved.rate,
        |h| h.joint.strict.rate,
        |h| h.gap.points,
    ];
    for figure in of_runs {
        let sum: f64 = (parts.iter())
            .map(|p| p.share_of_runs * figure(&p.headline).unwrap())
            .sum();
        assert!(close(sum, figure(whole).unwrap()));
    }
    let of_tasks: [fn(&Headline) -> Option<f64>; 4] = [
        |h| h.official.resolved.task_mean,
        |h| h.joint.resolved.task_mean,
        |h| h.official.score.macro_mean,
        |h| h.joint.score.macro_mean,
    ];
    for figure in of_tasks {
        let sum: f64 = (parts.iter())
            .map(|p| p.share_of_tasks * figure(&p.headline).unwrap())
            .sum();
        assert!(close(sum, figure(whole).unwrap()));
    }
}

fn subsets(h: &Headline) {
    assert!(
        h.joint.resolved.count <= h.official.resolved.count,
        "A_all is a subset of A_off"
    );
    assert!(h.official.strict.count <= h.official.resolved.count);
    assert!(h.joint.strict.count <= h.joint.resolved.count);
    assert_eq!(
        h.gap.official - h.gap.joint,
        h.official.resolved.count - h.joint.resolved.count
    );
    // what is resolved on each suite is on the union
    assert!(h.joint.resolved.count <= h.resolved_pooled.count);
}

proptest! {
    #[test]
    fn slices_always_add_up(runs in runs()) {
        let score = scored(&runs);
        for by in Dimension::ALL {
            adds_up(score.total_slices.by(by), &score.total.all);
            for c in &score.configurations {
                adds_up(c.slices.by(by), &c.totals.all);
            }
        }
    }

    #[test]
    fn no_order_changes_a_figure(runs in runs().prop_flat_map(|runs| {
        let reads: Vec<RunRead> = runs.iter().enumerate().map(|(at, r)| read(at, r)).collect();
        (Just(reads.clone()), Just(reads).prop_shuffle())
    })) {
        let text = |reads: &[RunRead]| {
            serde_json::to_string(&score(reads, &facts(), None).unwrap()).unwrap()
        };
        prop_assert_eq!(text(&runs.0), text(&runs.1));
    }

    #[test]
    fn no_order_of_cases_changes_a_count(run in rolled(), turn in 0..6_usize) {
        let mut turned = run.clone();
        turned.official.reverse();
        let by = turn % turned.official.len();
        turned.official.rotate_left(by);
        if let Some(probes) = &mut turned.probes {
            probes.reverse();
        }
        let (_, one) = graded(&run, "r", "t");
        let (_, other) = graded(&turned, "r", "t");
        prop_assert_eq!(one.unwrap(), other.unwrap());
    }

    #[test]
    fn what_is_excluded_changes_no_figure(runs in runs(), more in rolled()) {
        let mut with = runs.clone();
        with.push(Rolled { what: What::Fault, ..more.clone() });
        with.push(Rolled { what: What::Unfinished, ..more });
        let (one, other) = (scored(&runs), scored(&with));
        prop_assert_eq!(&one.total, &other.total);
        prop_assert_eq!(&one.tasks, &other.tasks);
        prop_assert_eq!(&one.solved, &other.solved);
        prop_assert_eq!(one.runs.faults + 1, other.runs.faults);
        prop_assert_eq!(one.runs.left_out + 1, other.runs.left_out);
        let faults = |s: &Score| -> usize {
            s.configurations.iter().flat_map(|c| &c.faults).map(|f| f.runs).sum()
        };
        prop_assert_eq!(faults(&other), other.runs.faults);
    }

    #[test]
    fn a_void_and_a_refused_patch_score_nothing_and_count(run in rolled()) {
        for what in [What::Void, What::Refused] {
            let (_, counted) = graded(&Rolled { what, ..run.clone() }, "r", "t");
            let counted = counted.unwrap();
            for count in [counted.official, counted.joint].into_iter().chain(counted.probes) {
                prop_assert!(!count.resolved && !count.strict && count.passed == 0);
                prop_assert!(count.collected > 0 && close(count.score, 0.0));
            }
            prop_assert!(!counted.resolved_pooled);
        }
    }

    #[test]
    fn a_judge_is_contained_in_the_weaker_one(runs in runs()) {
        let score = scored(&runs);
        for t in score.configurations.iter().map(|c| &c.totals).chain([&score.total]) {
            for h in [&t.all, &t.probed, &t.without_suspects] {
                subsets(h);
            }
            let v = &t.verdicts;
            prop_assert_eq!(v.resolved + v.official_only + v.failed + v.void, t.all.runs);
            prop_assert_eq!(v.resolved, t.all.joint.resolved.count);
        }
    }

    #[test]
    fn transitions_are_all_tasks_and_their_difference(runs in runs()) {
        let score = scored(&runs);
        for c in &score.comparisons {
            for t in [&c.official, &c.joint] {
                prop_assert_eq!(t.both + t.fixed + t.regressed + t.neither, c.tasks);
                prop_assert_eq!((t.fixes.len(), t.regressions.len()), (t.fixed, t.regressed));
                if c.tasks > 0 && c.repeated_tasks == 0 {
                    let net = t.fixed as f64 - t.regressed as f64;
                    let points = 100.0 * net / c.tasks as f64;
                    prop_assert!(close(t.difference_points.unwrap(), points));
                }
            }
        }
        for c in &score.configurations {
            let all = &c.totals.all.joint.resolved;
            if let Some(first) = c.repeats.at_k.first() {
                prop_assert!(close(first.joint_pass.unwrap(), all.task_mean.unwrap()));
                prop_assert!(close(first.joint_all.unwrap(), all.task_mean.unwrap()));
            }
        }
    }

    #[test]
    fn the_judge_and_the_recount_say_the_same(run in rolled()) {
        let (grade, counted) = graded(&run, "r", "t");
        let counted = counted.unwrap();
        prop_assert_eq!(counted.verdict, grade.verdict);
        // and a grade that says anything else does not count
        let forgeries: [&dyn Fn(&mut Grade); 7] = [
            &|g| g.resolved = !g.resolved,
            &|g| g.resolved_official_strict = !g.resolved_official_strict,
            &|g| g.task = "another".into(),
            &|g| g.run = "another".into(),
            &|g| g.suites.values_mut().for_each(|s| s.collected += 1),
            &|g| g.suites.clear(),
            &|g| {
                g.verdict = match g.verdict {
                    Verdict::Resolved => Verdict::Failed,
                    _ => Verdict::Resolved,
                }
            },
        ];
        for forge in forgeries {
            let (_, counted) = graded_as(&run, "r", "t", forge);
            prop_assert_eq!(counted.unwrap_err().0, LeftOut::Disagrees);
        }
    }
}
