//! Configurations in order, as the tasks are and with other weights: an order may depend on them.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::figures::Headline;
use super::slices::{Dimension, Slice};

/// Rates that differ by less are equal.
const SAME: f64 = 1e-12;

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Rank {
    /// 1 is best; equal rates share a rank.
    pub rank: usize,
    /// Position in `configurations`.
    pub configuration: usize,
    /// Joint resolved, the mean over tasks (or weighted).
    pub rate: f64,
}

pub(super) fn ranking(rates: impl IntoIterator<Item = (usize, Option<f64>)>) -> Vec<Rank> {
    let rates: Vec<(usize, f64)> = (rates.into_iter())
        .filter_map(|(configuration, rate)| Some((configuration, rate?)))
        .collect();
    let mut ranks: Vec<Rank> = (rates.iter())
        .map(|(configuration, rate)| Rank {
            rank: 1 + rates.iter().filter(|(_, o)| *o > rate + SAME).count(),
            configuration: *configuration,
            rate: *rate,
        })
        .collect();
    ranks.sort_by_key(|r| (r.rank, r.configuration));
    ranks
}

/// Weights of the values of one dimension; what is not 1 in sum is scaled.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    pub by: Dimension,
    pub weights: BTreeMap<String, f64>,
}

/// What is wrong with weights, and the mend.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WeightsError {
    #[error("weight of {0} must be a number of 0 or more")]
    Negative(String),
    #[error("the weights add up to nothing; give one above 0")]
    Nothing,
    #[error("no counted task has the {by} {value}; they have {known}")]
    Unknown {
        by: Dimension,
        value: String,
        known: String,
    },
    #[error("{by} {value} has counted tasks and no weight; give it 0 to leave it out")]
    Unweighted { by: Dimension, value: String },
    #[error("the folders of some counted tasks cannot be read, so their {0} is unknown")]
    NoFacts(Dimension),
}

impl Weights {
    /// Held against the values that the counted tasks have.
    pub(super) fn check(&self, whole: &[Slice]) -> Result<(), WeightsError> {
        let by = self.by;
        for (value, weight) in &self.weights {
            if !(*weight >= 0.0 && weight.is_finite()) {
                return Err(WeightsError::Negative(value.clone()));
            }
        }
        let sum: f64 = self.weights.values().sum();
        if !(sum > 0.0 && sum.is_finite()) {
            return Err(WeightsError::Nothing);
        }
        let mut known = BTreeSet::new();
        for slice in whole {
            known.insert(slice.value.as_deref().ok_or(WeightsError::NoFacts(by))?);
        }
        if let Some(value) = self.weights.keys().find(|v| !known.contains(v.as_str())) {
            return Err(WeightsError::Unknown {
                by,
                value: value.clone(),
                known: known.into_iter().collect::<Vec<_>>().join(", "),
            });
        }
        match known.iter().find(|v| !self.weights.contains_key(**v)) {
            Some(value) => Err(WeightsError::Unweighted {
                by,
                value: (*value).to_owned(),
            }),
            None => Ok(()),
        }
    }

    /// A figure of each part, weighted; `None` where a part with a weight is missing.
    fn mean(&self, parts: &[Slice], figure: fn(&Headline) -> Option<f64>) -> Option<f64> {
        let (mut sum, mut whole) = (0.0, 0.0);
        for (value, weight) in self.weights.iter().filter(|(_, w)| **w > 0.0) {
            let part = parts.iter().find(|p| p.value.as_deref() == Some(value))?;
            sum += weight * figure(&part.headline)?;
            whole += weight;
        }
        Some(sum / whole)
    }
}

/// All configurations with other weights.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Weighted {
    pub by: Dimension,
    pub weights: BTreeMap<String, f64>,
    pub configurations: Vec<WeightedScore>,
    pub ranking: Vec<Rank>,
    /// Ranks are not those of `ranking` without weights.
    pub ranking_changes: bool,
}

/// Means over the parts; within a part every task weighs the same.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WeightedScore {
    /// Position in `configurations`.
    pub configuration: usize,
    pub official: Option<f64>,
    pub joint: Option<f64>,
    /// Test pass score on official + probes.
    pub score: Option<f64>,
    /// Parts with a weight of which it has no run: then there is no figure.
    pub missing: Vec<String>,
}

pub(super) fn weigh(
    weights: &Weights,
    parts: &[(usize, &[Slice])],
    unweighted: &[Rank],
) -> Weighted {
    let configurations: Vec<WeightedScore> = (parts.iter())
        .map(|(configuration, slices)| {
            let lacks = |value: &str| slices.iter().all(|s| s.value.as_deref() != Some(value));
            WeightedScore {
                configuration: *configuration,
                official: weights.mean(slices, |h| h.official.resolved.task_mean),
                joint: weights.mean(slices, |h| h.joint.resolved.task_mean),
                score: weights.mean(slices, |h| h.joint.score.macro_mean),
                missing: (weights.weights.iter())
                    .filter(|(value, weight)| **weight > 0.0 && lacks(value))
                    .map(|(value, _)| value.clone())
                    .collect(),
            }
        })
        .collect();
    let ranking = ranking(configurations.iter().map(|c| (c.configuration, c.joint)));
    let places = |ranks: &[Rank]| -> Vec<(usize, usize)> {
        ranks.iter().map(|r| (r.rank, r.configuration)).collect()
    };
    Weighted {
        by: weights.by,
        weights: weights.weights.clone(),
        ranking_changes: places(&ranking) != places(unweighted),
        configurations,
        ranking,
    }
}
