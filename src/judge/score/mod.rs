//! Figures over many graded runs: rates for both judges, gaps, comparisons, repeats, slices
//! (METHOD.md section 6).
//!
//! What a run says is recounted from its cases ([`recount`]); what its grade says is only held
//! against that. From there on a figure depends on the set of runs alone, never on their order.

mod compare;
mod counted;
mod document;
mod evidence;
mod figures;
mod ranking;
mod recount;
mod repeats;
mod slices;
pub mod statistics;
#[cfg(test)]
mod tests;

pub use compare::{Comparison, Transition};
pub use counted::{Count, Counted};
pub use document::{ConfigurationScore, Score, TaskScore, score};
pub use evidence::{Configuration, LeftOut, RunRead, Standing, TaskFacts};
pub use figures::{Gap, Headline, Judged, Means, Rate, Totals};
pub use ranking::{Rank, Weighted, Weights, WeightsError};
pub use recount::{Evidence, recount};
pub use repeats::{AtK, Repeats};
pub use slices::{Dimension, Slice, Slices};
