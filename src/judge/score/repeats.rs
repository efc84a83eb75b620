//! Several runs of one configuration on one task: how much they differ, and what k tries reach.

use std::collections::{BTreeMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::counted::Counted;
use super::figures::by_task;
use super::statistics::{at_k, mean, variance};

/// Of one configuration. All its counted runs of a task are repeats.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Repeats {
    /// Tasks with more than one run.
    pub repeated_tasks: usize,
    /// The largest number of runs of one task.
    pub most: usize,
    /// Runs that grade a submission again which another run graded: what differs between these is
    /// the judge, not the agent.
    pub graded_again: usize,
    /// k from 1 to `most`.
    pub at_k: Vec<AtK>,
    /// The tasks with more than one run.
    pub by_task: Vec<TaskRepeats>,
}

/// Means over the tasks with at least k runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AtK {
    pub k: usize,
    /// The denominator.
    pub tasks: usize,
    /// Some of k runs is resolved (pass@k).
    pub official_pass: Option<f64>,
    pub joint_pass: Option<f64>,
    /// All of k runs are.
    pub official_all: Option<f64>,
    pub joint_all: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TaskRepeats {
    pub task: String,
    pub runs: usize,
    /// Runs resolved on the official suite.
    pub official: usize,
    /// Runs resolved on both.
    pub joint: usize,
    /// Sample variance of the score on official + probes.
    pub score_variance: Option<f64>,
    /// Sample variance of joint resolved, as 0 and 1.
    pub resolved_variance: Option<f64>,
}

impl Repeats {
    /// `origins`: by run, what names its submission.
    pub(super) fn of(runs: &[&Counted], origins: &BTreeMap<&str, &str>) -> Self {
        let tasks = by_task(runs);
        let most = tasks.values().map(Vec::len).max().unwrap_or(0);
        let again = |runs: &[&Counted]| {
            let own: HashSet<&str> = (runs.iter())
                .map(|r| origins.get(r.run.as_str()).copied().unwrap_or(&r.run))
                .collect();
            runs.len() - own.len()
        };
        Self {
            repeated_tasks: tasks.values().filter(|runs| runs.len() > 1).count(),
            most,
            graded_again: tasks.values().map(|runs| again(runs)).sum(),
            at_k: (1..=most).map(|k| AtK::of(&tasks, k)).collect(),
            by_task: (tasks.iter())
                .filter(|(_, runs)| runs.len() > 1)
                .map(|(task, runs)| TaskRepeats::of(task, runs))
                .collect(),
        }
    }
}

impl AtK {
    fn of(tasks: &BTreeMap<&str, Vec<&Counted>>, k: usize) -> Self {
        let judged = |solved: fn(&Counted) -> bool| {
            let each: Vec<(f64, f64)> = (tasks.values())
                .filter_map(|runs| at_k(runs.len(), runs.iter().filter(|r| solved(r)).count(), k))
                .collect();
            let (some, all): (Vec<f64>, Vec<f64>) = each.into_iter().unzip();
            (mean(&some), mean(&all))
        };
        let (official_pass, official_all) = judged(|r| r.official.resolved);
        let (joint_pass, joint_all) = judged(|r| r.joint.resolved);
        Self {
            k,
            tasks: tasks.values().filter(|runs| runs.len() >= k).count(),
            official_pass,
            joint_pass,
            official_all,
            joint_all,
        }
    }
}

impl TaskRepeats {
    fn of(task: &str, runs: &[&Counted]) -> Self {
        let count = |holds: fn(&Counted) -> bool| runs.iter().filter(|r| holds(r)).count();
        let spread = |value: fn(&Counted) -> f64| {
            variance(&runs.iter().map(|r| value(r)).collect::<Vec<_>>())
        };
        Self {
            task: task.to_owned(),
            runs: runs.len(),
            official: count(|r| r.official.resolved),
            joint: count(|r| r.joint.resolved),
            score_variance: spread(|r| r.joint.score),
            resolved_variance: spread(|r| f64::from(u8::from(r.joint.resolved))),
        }
    }
}
