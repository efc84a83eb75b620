//! Parts of a set of runs by what their tasks are. Every run is in one part of each dimension, so
//! that the parts, weighted by their shares, make the whole again.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::counted::Counted;
use super::evidence::TaskFacts;
use super::figures::Headline;
use super::statistics::share;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    Area,
    Repository,
    Kind,
    Gpus,
}

impl Dimension {
    pub const ALL: [Self; 4] = [Self::Area, Self::Repository, Self::Kind, Self::Gpus];

    pub fn name(self) -> &'static str {
        match self {
            Self::Area => "area",
            Self::Repository => "repository",
            Self::Kind => "kind",
            Self::Gpus => "gpus",
        }
    }

    pub(super) fn value(self, facts: &TaskFacts) -> Option<&str> {
        match self {
            Self::Area => facts.area.as_deref(),
            Self::Repository => facts.repository.as_deref(),
            Self::Kind => facts.kind.as_deref(),
            Self::Gpus => facts.gpus.as_deref(),
        }
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One part.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Slice {
    /// Absent: the tasks' folders could not be read.
    pub value: Option<String>,
    pub runs: usize,
    pub tasks: usize,
    /// Weight of this part in a rate of runs.
    pub share_of_runs: f64,
    /// Weight of this part in a mean over tasks.
    pub share_of_tasks: f64,
    pub headline: Headline,
}

/// The same runs in parts, once for each dimension.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Slices {
    pub area: Vec<Slice>,
    pub repository: Vec<Slice>,
    pub kind: Vec<Slice>,
    pub gpus: Vec<Slice>,
}

impl Slices {
    pub(super) fn of(runs: &[&Counted], tasks: &BTreeMap<String, TaskFacts>) -> Self {
        let along = |dimension| slices(runs, tasks, dimension);
        Self {
            area: along(Dimension::Area),
            repository: along(Dimension::Repository),
            kind: along(Dimension::Kind),
            gpus: along(Dimension::Gpus),
        }
    }

    pub fn by(&self, dimension: Dimension) -> &[Slice] {
        match dimension {
            Dimension::Area => &self.area,
            Dimension::Repository => &self.repository,
            Dimension::Kind => &self.kind,
            Dimension::Gpus => &self.gpus,
        }
    }
}

fn slices(
    runs: &[&Counted],
    tasks: &BTreeMap<String, TaskFacts>,
    dimension: Dimension,
) -> Vec<Slice> {
    let mut parts: BTreeMap<Option<&str>, Vec<&Counted>> = BTreeMap::new();
    for run in runs {
        let value = tasks.get(&run.task).and_then(|t| dimension.value(t));
        parts.entry(value).or_default().push(run);
    }
    let whole = Headline::of(runs);
    parts
        .into_iter()
        .map(|(value, part)| {
            let headline = Headline::of(&part);
            Slice {
                value: value.map(str::to_owned),
                runs: headline.runs,
                tasks: headline.tasks,
                share_of_runs: share(headline.runs, whole.runs).unwrap_or(0.0),
                share_of_tasks: share(headline.tasks, whole.tasks).unwrap_or(0.0),
                headline,
            }
        })
        .collect()
}
