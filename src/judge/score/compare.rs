//! Two configurations on the same tasks: the 2x2 table of transitions, by task.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::counted::{Count, Counted};
use super::figures::by_task;
use super::statistics::{mcnemar, mean};

/// Configuration `a` against configuration `b`, on the tasks that both have runs of.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// Positions in `configurations`.
    pub a: usize,
    pub b: usize,
    /// Tasks that both ran: the denominator of everything below.
    pub tasks: usize,
    /// Of these, tasks with several runs of one of them: they are solved where more than half of
    /// the runs are.
    pub repeated_tasks: usize,
    pub only_a: Vec<String>,
    pub only_b: Vec<String>,
    pub official: Transition,
    pub joint: Transition,
}

/// Tasks by what they were for `a` and are for `b`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Transition {
    pub both: usize,
    pub fixed: usize,
    pub regressed: usize,
    pub neither: usize,
    /// Not solved by `a`, solved by `b`.
    pub fixes: Vec<String>,
    /// Solved by `a`, not by `b`.
    pub regressions: Vec<String>,
    /// Exact McNemar, two-sided. Absent where there is no task.
    pub p_value: Option<f64>,
    /// Means over the tasks.
    pub rate_a: Option<f64>,
    pub rate_b: Option<f64>,
    /// `100 (rate_b - rate_a)`.
    pub difference_points: Option<f64>,
}

type Tasks<'a> = BTreeMap<&'a str, Vec<&'a Counted>>;

pub(super) fn compare(a: usize, b: usize, of_a: &[&Counted], of_b: &[&Counted]) -> Comparison {
    let (first, second) = (by_task(of_a), by_task(of_b));
    let both: Vec<(&str, &[&Counted], &[&Counted])> = (first.iter())
        .filter_map(|(task, runs)| Some((*task, &runs[..], &second.get(task)?[..])))
        .collect();
    let lone = |own: &Tasks<'_>, other: &Tasks<'_>| -> Vec<String> {
        let lone = own.keys().filter(|task| !other.contains_key(*task));
        lone.map(|task| (*task).to_owned()).collect()
    };
    let (only_a, only_b) = (lone(&first, &second), lone(&second, &first));
    Comparison {
        a,
        b,
        tasks: both.len(),
        repeated_tasks: both
            .iter()
            .filter(|(_, a, b)| a.len() > 1 || b.len() > 1)
            .count(),
        only_a,
        only_b,
        official: transition(&both, |r| r.official),
        joint: transition(&both, |r| r.joint),
    }
}

fn transition(
    tasks: &[(&str, &[&Counted], &[&Counted])],
    part: fn(&Counted) -> Count,
) -> Transition {
    let mut table = Transition {
        both: 0,
        fixed: 0,
        regressed: 0,
        neither: 0,
        fixes: Vec::new(),
        regressions: Vec::new(),
        p_value: None,
        rate_a: None,
        rate_b: None,
        difference_points: None,
    };
    let (mut shares_a, mut shares_b) = (Vec::new(), Vec::new());
    for (task, of_a, of_b) in tasks {
        let solved = |runs: &[&Counted]| runs.iter().filter(|r| part(r).resolved).count();
        let (a, b) = (solved(of_a), solved(of_b));
        shares_a.push(a as f64 / of_a.len() as f64);
        shares_b.push(b as f64 / of_b.len() as f64);
        match (2 * a > of_a.len(), 2 * b > of_b.len()) {
            (true, true) => table.both += 1,
            (false, false) => table.neither += 1,
            (false, true) => {
                table.fixed += 1;
                table.fixes.push((*task).to_owned());
            }
            (true, false) => {
                table.regressed += 1;
                table.regressions.push((*task).to_owned());
            }
        }
    }
    table.p_value = (!tasks.is_empty()).then(|| mcnemar(table.fixed, table.regressed));
    (table.rate_a, table.rate_b) = (mean(&shares_a), mean(&shares_b));
    table.difference_points = (table.rate_a.zip(table.rate_b)).map(|(a, b)| 100.0 * (b - a));
    table
}
