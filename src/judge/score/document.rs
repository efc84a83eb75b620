//! All figures over a set of runs: the published shape of `infradev score --json`.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::compare::{Comparison, compare};
use super::counted::Counted;
use super::evidence::{Configuration, LeftOut, RunRead, Standing, TaskFacts};
use super::figures::{Totals, by_task};
use super::ranking::{Rank, Weighted, Weights, WeightsError, ranking, weigh};
use super::repeats::Repeats;
use super::slices::Slices;

/// Schema: `assets/schema/score.json`. Meanings: METHOD.md section 6.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Score {
    /// Version of this shape.
    pub schema: u32,
    pub runs: RunCounts,
    /// All counted runs, whatever their configuration.
    pub total: Totals,
    pub total_slices: Slices,
    /// In the order of their names.
    pub configurations: Vec<ConfigurationScore>,
    /// Every pair of configurations that have counted runs.
    pub comparisons: Vec<Comparison>,
    /// By joint resolved, the mean over tasks.
    pub ranking: Vec<Rank>,
    /// Every ranked configuration has runs of the same tasks; else ranks compare different tasks.
    pub same_tasks: bool,
    pub weighted: Option<Weighted>,
    pub tasks: Vec<TaskScore>,
    pub solved: Solved,
    /// The counted runs.
    pub scored: Vec<Counted>,
    /// Harness faults: excluded from every figure.
    pub faults: Vec<FaultRow>,
    pub left_out: Vec<LeftOutRow>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunCounts {
    /// Run folders: `counted + faults + left_out`.
    pub given: usize,
    pub counted: usize,
    pub faults: usize,
    pub left_out: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ConfigurationScore {
    pub configuration: Configuration,
    /// Parts of it that are not on record: runs that differ in them stand together here.
    pub unknown: Vec<String>,
    /// Versions of the agent harness, where they are on record.
    pub versions: BTreeSet<String>,
    /// When its first and its last counted run were made, seconds since the epoch.
    pub first_s: Option<f64>,
    pub last_s: Option<f64>,
    pub totals: Totals,
    pub slices: Slices,
    pub repeats: Repeats,
    /// Harness faults by task.
    pub faults: Vec<TaskCount>,
    /// Its runs that are left out, by reason.
    pub left_out: BTreeMap<LeftOut, usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TaskCount {
    pub task: String,
    pub runs: usize,
}

/// A task with counted runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TaskScore {
    pub task: String,
    #[serde(flatten)]
    pub facts: TaskFacts,
    /// Counted runs of all configurations.
    pub runs: usize,
    /// Configurations that have some.
    pub configurations: usize,
    /// Runs that were judged by probes too.
    pub probed_runs: usize,
    /// Different keys (base, gold, tests, environment, engine, limits, …) among them; above 1 they
    /// were not all judged by the same.
    pub keys: usize,
    /// Runs resolved on the official suite.
    pub official: usize,
    /// Runs resolved on both.
    pub joint: usize,
}

/// Tasks at both ends, over all counted runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Solved {
    pub official: SolvedBy,
    pub joint: SolvedBy,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SolvedBy {
    /// No run is resolved.
    pub by_none: Vec<String>,
    /// Every run is.
    pub by_all: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FaultRow {
    pub task: String,
    pub configuration: usize,
    pub run: String,
    /// What failed; may quote untrusted text.
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LeftOutRow {
    pub run: String,
    pub reason: LeftOut,
    /// Absent: its manifest cannot be read.
    pub task: Option<String>,
    /// Absent where no submission was graded.
    pub configuration: Option<usize>,
    pub detail: String,
}

/// Scores runs. Ids of counted runs are unique. `tasks`: what each task is, by id.
pub fn score(
    reads: &[RunRead],
    tasks: &BTreeMap<String, TaskFacts>,
    weights: Option<&Weights>,
) -> Result<Score, WeightsError> {
    let mut reads: Vec<&RunRead> = reads.iter().collect();
    reads.sort_by(|a, b| order(a).cmp(&order(b)));
    let names: BTreeSet<&Configuration> = reads
        .iter()
        .filter_map(|r| r.configuration.as_ref())
        .collect();
    let names: Vec<&Configuration> = names.into_iter().collect();
    let nobody = Configuration::default();
    // a run that counts, or a fault, always has one
    let index = |read: &RunRead| {
        let own = read.configuration.as_ref().unwrap_or(&nobody);
        names.binary_search(&own).unwrap_or(0)
    };
    let mut counted: Vec<Counted> = Vec::new();
    let (mut faults, mut left_out) = (Vec::new(), Vec::new());
    for read in &reads {
        match &read.standing {
            Standing::Counted(found) => counted.push(Counted {
                configuration: index(read),
                ..(**found).clone()
            }),
            Standing::Fault(message) => faults.push(FaultRow {
                task: read.task.clone().unwrap_or_default(),
                configuration: index(read),
                run: read.run.clone(),
                message: message.clone(),
            }),
            Standing::LeftOut(reason, detail) => left_out.push(LeftOutRow {
                run: read.run.clone(),
                reason: *reason,
                task: read.task.clone(),
                configuration: read.configuration.as_ref().map(|_| index(read)),
                detail: detail.clone(),
            }),
        }
    }
    counted.sort_by(|a, b| {
        (&a.task, a.configuration, &a.run).cmp(&(&b.task, b.configuration, &b.run))
    });
    faults.sort_by(|a, b| {
        (&a.task, a.configuration, &a.run).cmp(&(&b.task, b.configuration, &b.run))
    });
    left_out.sort_by(|a, b| (&a.run, a.reason, &a.detail).cmp(&(&b.run, b.reason, &b.detail)));
    let all: Vec<&Counted> = counted.iter().collect();
    let origins: BTreeMap<&str, &str> = (reads.iter())
        .filter(|r| matches!(r.standing, Standing::Counted(_)))
        .map(|r| (r.run.as_str(), r.origin.as_str()))
        .collect();
    let configurations: Vec<ConfigurationScore> = (names.iter().enumerate())
        .map(|(at, name)| {
            let of = Own {
                name,
                runs: all
                    .iter()
                    .copied()
                    .filter(|r| r.configuration == at)
                    .collect(),
                reads: (reads.iter().copied())
                    .filter(|r| r.configuration.as_ref() == Some(*name))
                    .collect(),
            };
            of.score(tasks, &origins)
        })
        .collect();
    let present: Vec<(usize, Vec<&Counted>)> = (0..names.len())
        .map(|at| {
            (
                at,
                all.iter()
                    .copied()
                    .filter(|r| r.configuration == at)
                    .collect(),
            )
        })
        .filter(|(_, runs): &(usize, Vec<&Counted>)| !runs.is_empty())
        .collect();
    let total_slices = Slices::of(&all, tasks);
    let ranking = ranking(
        present
            .iter()
            .map(|(at, _)| (*at, configurations[*at].totals.all.joint.resolved.task_mean)),
    );
    let weighted = match weights {
        None => None,
        Some(weights) => {
            weights.check(total_slices.by(weights.by))?;
            let parts: Vec<_> = (present.iter())
                .map(|(at, _)| (*at, configurations[*at].slices.by(weights.by)))
                .collect();
            Some(weigh(weights, &parts, &ranking))
        }
    };
    let same: BTreeSet<Vec<&str>> = (present.iter())
        .map(|(_, runs)| by_task(runs).into_keys().collect())
        .collect();
    Ok(Score {
        schema: 1,
        runs: RunCounts {
            given: reads.len(),
            counted: counted.len(),
            faults: faults.len(),
            left_out: left_out.len(),
        },
        total: Totals::of(&all),
        total_slices,
        comparisons: pairs(&present),
        same_tasks: same.len() <= 1,
        ranking,
        weighted,
        tasks: task_scores(&all, tasks, &reads),
        solved: Solved {
            official: solved(&all, |r| r.official.resolved),
            joint: solved(&all, |r| r.joint.resolved),
        },
        configurations,
        faults,
        left_out,
        scored: counted,
    })
}

fn order(read: &RunRead) -> (&str, Option<&str>, &str, &str) {
    (&read.run, read.task.as_deref(), &read.origin, &read.keys)
}

/// One configuration's runs.
struct Own<'a> {
    name: &'a Configuration,
    runs: Vec<&'a Counted>,
    reads: Vec<&'a RunRead>,
}

impl Own<'_> {
    fn score(
        &self,
        tasks: &BTreeMap<String, TaskFacts>,
        origins: &BTreeMap<&str, &str>,
    ) -> ConfigurationScore {
        let mut faults: BTreeMap<&str, usize> = BTreeMap::new();
        let mut left_out: BTreeMap<LeftOut, usize> = BTreeMap::new();
        let mut times: Vec<f64> = Vec::new();
        let mut versions = BTreeSet::new();
        for read in &self.reads {
            match &read.standing {
                Standing::Counted(_) => {
                    times.push(read.created_s);
                    versions.extend(read.version.clone());
                }
                Standing::Fault(_) => {
                    *faults
                        .entry(read.task.as_deref().unwrap_or(""))
                        .or_default() += 1;
                }
                Standing::LeftOut(reason, _) => *left_out.entry(*reason).or_default() += 1,
            }
        }
        ConfigurationScore {
            configuration: self.name.clone(),
            unknown: self.name.unknown().into_iter().map(str::to_owned).collect(),
            versions,
            first_s: times.iter().copied().reduce(f64::min),
            last_s: times.iter().copied().reduce(f64::max),
            totals: Totals::of(&self.runs),
            slices: Slices::of(&self.runs, tasks),
            repeats: Repeats::of(&self.runs, origins),
            faults: (faults.into_iter())
                .map(|(task, runs)| TaskCount {
                    task: task.to_owned(),
                    runs,
                })
                .collect(),
            left_out,
        }
    }
}

fn pairs(present: &[(usize, Vec<&Counted>)]) -> Vec<Comparison> {
    let mut pairs = Vec::new();
    for (i, (a, of_a)) in present.iter().enumerate() {
        for (b, of_b) in &present[i + 1..] {
            pairs.push(compare(*a, *b, of_a, of_b));
        }
    }
    pairs
}

fn task_scores(
    all: &[&Counted],
    facts: &BTreeMap<String, TaskFacts>,
    reads: &[&RunRead],
) -> Vec<TaskScore> {
    let keys: BTreeMap<&str, &str> = (reads.iter())
        .filter(|r| matches!(r.standing, Standing::Counted(_)))
        .map(|r| (r.run.as_str(), r.keys.as_str()))
        .collect();
    let distinct = |values: BTreeSet<String>| values.len();
    (by_task(all).into_iter())
        .map(|(task, runs)| {
            let count = |holds: fn(&Counted) -> bool| runs.iter().filter(|r| holds(r)).count();
            TaskScore {
                task: task.to_owned(),
                facts: facts.get(task).cloned().unwrap_or_default(),
                runs: runs.len(),
                configurations: distinct(
                    runs.iter().map(|r| r.configuration.to_string()).collect(),
                ),
                probed_runs: count(|r| r.probes.is_some()),
                keys: distinct(
                    (runs.iter())
                        .filter_map(|r| keys.get(r.run.as_str()))
                        .map(|k| (*k).to_owned())
                        .collect(),
                ),
                official: count(|r| r.official.resolved),
                joint: count(|r| r.joint.resolved),
            }
        })
        .collect()
}

fn solved(all: &[&Counted], holds: fn(&Counted) -> bool) -> SolvedBy {
    let tasks = by_task(all);
    let which = |wanted: fn(usize, usize) -> bool| -> Vec<String> {
        (tasks.iter())
            .filter(|(_, runs)| wanted(runs.iter().filter(|r| holds(r)).count(), runs.len()))
            .map(|(task, _)| (*task).to_owned())
            .collect()
    };
    SolvedBy {
        by_none: which(|solved, _| solved == 0),
        by_all: which(|solved, of| solved == of),
    }
}
