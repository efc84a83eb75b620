//! PURE: from outcomes to a verdict, and from verdicts to figures (METHOD.md section 6).

pub mod acceptance;
pub mod score;
mod tampering;
mod verdict;

pub use tampering::unlike_gold;
pub use verdict::{JUDGE_VERSION, Observed, judge};
