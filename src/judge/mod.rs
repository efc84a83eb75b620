//! PURE: from outcomes to a verdict, and from verdicts to figures (METHOD.md section 6).

pub mod acceptance;
pub mod score;
mod verdict;

pub use verdict::{JUDGE_VERSION, Observed, judge};
