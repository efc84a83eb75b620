//! Rates, means and gaps of a set of runs. Each figure carries its denominator.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::counted::{Count, Counted};
use super::statistics::{mean, share, standard_error, wilson};
use crate::domain::{Badge, Cause, Verdict};

/// Runs by task, in the order of tasks. Figures go through it, so that they depend on no order.
pub(super) fn by_task<'a>(runs: &[&'a Counted]) -> BTreeMap<&'a str, Vec<&'a Counted>> {
    let mut tasks: BTreeMap<&str, Vec<&Counted>> = BTreeMap::new();
    for run in runs {
        tasks.entry(&run.task).or_default().push(run);
    }
    for runs in tasks.values_mut() {
        runs.sort_by(|a, b| (a.configuration, &a.run).cmp(&(b.configuration, &b.run)));
    }
    tasks
}

/// The mean over tasks of the mean over each task's runs; every task weighs the same.
fn task_mean(runs: &[&Counted], value: impl Fn(&Counted) -> f64) -> Option<f64> {
    let tasks: Vec<f64> = (by_task(runs).values())
        .filter_map(|runs| mean(&runs.iter().map(|r| value(r)).collect::<Vec<_>>()))
        .collect();
    mean(&tasks)
}

/// Runs of which something holds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Rate {
    pub count: usize,
    /// Runs: voids and refused patches are among them, faults are not.
    pub of: usize,
    /// `count / of`.
    pub rate: Option<f64>,
    /// 95 % Wilson interval of `rate`, as if runs were independent.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub standard_error: Option<f64>,
    /// The mean over tasks; differs from `rate` where tasks have different numbers of runs.
    pub task_mean: Option<f64>,
}

impl Rate {
    pub(super) fn of(runs: &[&Counted], holds: impl Fn(&Counted) -> bool) -> Self {
        let count = runs.iter().filter(|r| holds(r)).count();
        let of = runs.len();
        let interval = wilson(count, of);
        Self {
            count,
            of,
            rate: share(count, of),
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high),
            standard_error: standard_error(count, of),
            task_mean: task_mean(runs, |r| f64::from(u8::from(holds(r)))),
        }
    }
}

/// Test pass score `|S| / |C|`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Means {
    /// The headline: the mean over tasks (and over a task's runs first).
    pub macro_mean: Option<f64>,
    /// `passed / collected`, over all cases of all runs.
    pub pooled: Option<f64>,
    pub passed: usize,
    pub collected: usize,
}

impl Means {
    /// Over the runs that have the part.
    fn of(runs: &[&Counted], part: impl Fn(&Counted) -> Option<Count>) -> Self {
        let having: Vec<&Counted> = runs.iter().copied().filter(|r| part(r).is_some()).collect();
        let sum = |value: fn(&Count) -> usize| -> usize {
            (having.iter())
                .filter_map(|r| part(r))
                .map(|c| value(&c))
                .sum()
        };
        let (passed, collected) = (sum(|c| c.passed), sum(|c| c.collected));
        Self {
            macro_mean: task_mean(&having, |r| part(r).map_or(0.0, |c| c.score)),
            pooled: share(passed, collected),
            passed,
            collected,
        }
    }
}

/// One judge: the official suite alone, or official + probes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Judged {
    pub score: Means,
    /// `|S| >= |G|`; of official + probes: on each suite on its own counts.
    pub resolved: Rate,
    /// `G ⊆ S`.
    pub strict: Rate,
}

impl Judged {
    fn of(runs: &[&Counted], part: fn(&Counted) -> Count) -> Self {
        Self {
            score: Means::of(runs, |r| Some(part(r))),
            resolved: Rate::of(runs, |r| part(r).resolved),
            strict: Rate::of(runs, |r| part(r).strict),
        }
    }
}

/// What the official suite accepts and official + probes does not.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Gap {
    /// A_off: runs resolved on the official suite.
    pub official: usize,
    /// A_all: those that are resolved on the probes as well.
    pub joint: usize,
    /// N.
    pub of: usize,
    /// `(A_off - A_all) / A_off`.
    pub conditional: Option<f64>,
    /// `100 (A_off - A_all) / N`.
    pub points: Option<f64>,
}

/// The figures of a set of runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Headline {
    pub runs: usize,
    pub tasks: usize,
    pub official: Judged,
    /// Official and probes, each on its own counts; its score is that of both suites' cases.
    pub joint: Judged,
    /// The probe suite alone, over probed runs.
    pub probes: Means,
    /// `|S| >= |G|` on the union of both suites: not the joint judgement.
    pub resolved_pooled: Rate,
    pub gap: Gap,
    /// What one task is worth in a rate over these tasks: `100 / tasks`.
    pub task_weight_points: Option<f64>,
}

impl Headline {
    pub(super) fn of(runs: &[&Counted]) -> Self {
        let official = Judged::of(runs, |r| r.official);
        let joint = Judged::of(runs, |r| r.joint);
        let (off, all) = (official.resolved.count, joint.resolved.count);
        let tasks = by_task(runs).len();
        let rejected = off.saturating_sub(all);
        Self {
            runs: runs.len(),
            tasks,
            official,
            joint,
            probes: Means::of(runs, |r| r.probes),
            resolved_pooled: Rate::of(runs, |r| r.resolved_pooled),
            gap: Gap {
                official: off,
                joint: all,
                of: runs.len(),
                conditional: share(rejected, off),
                points: share(rejected, runs.len()).map(|s| 100.0 * s),
            },
            task_weight_points: share(1, tasks).map(|s| 100.0 * s),
        }
    }
}

/// Headlines over all runs and over parts of them, and what is counted apart.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Totals {
    pub all: Headline,
    /// Over probed tasks alone.
    pub probed: Headline,
    /// Without runs that carry the badge `suspect`.
    pub without_suspects: Headline,
    pub verdicts: Verdicts,
    /// Runs by the cause that their grade names.
    pub causes: BTreeMap<String, usize>,
    /// Runs by badge.
    pub badges: BTreeMap<String, usize>,
    pub strict_differs: StrictDiffers,
}

/// Runs by verdict. Faults are none of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Verdicts {
    pub resolved: usize,
    pub official_only: usize,
    pub failed: usize,
    /// Tampered: score 0, in every denominator.
    pub void: usize,
}

/// Tasks with a run that is resolved and not resolved-strict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StrictDiffers {
    pub official: BTreeSet<String>,
    pub joint: BTreeSet<String>,
}

impl Totals {
    pub(super) fn of(runs: &[&Counted]) -> Self {
        let only = |keep: fn(&Counted) -> bool| -> Headline {
            let kept: Vec<&Counted> = runs.iter().copied().filter(|r| keep(r)).collect();
            Headline::of(&kept)
        };
        let verdict = |v: Verdict| runs.iter().filter(|r| r.verdict == v).count();
        let differs = |part: fn(&Counted) -> Count| -> BTreeSet<String> {
            (runs.iter())
                .filter(|r| part(r).resolved != part(r).strict)
                .map(|r| r.task.clone())
                .collect()
        };
        Self {
            all: Headline::of(runs),
            probed: only(|r| r.probes.is_some()),
            without_suspects: only(|r| !r.suspect()),
            verdicts: Verdicts {
                resolved: verdict(Verdict::Resolved),
                official_only: verdict(Verdict::OfficialOnly),
                failed: verdict(Verdict::Failed),
                void: verdict(Verdict::Void),
            },
            causes: tally(runs.iter().filter_map(|r| r.cause).map(Cause::name)),
            badges: tally(
                (runs.iter())
                    .flat_map(|r| &r.badges)
                    .map(|b: &Badge| b.name()),
            ),
            strict_differs: StrictDiffers {
                official: differs(|r| r.official),
                joint: differs(|r| r.joint),
            },
        }
    }
}

fn tally(names: impl Iterator<Item = &'static str>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for name in names {
        *counts.entry(name.to_owned()).or_insert(0) += 1;
    }
    counts
}
