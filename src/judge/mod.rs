//! PURE: from outcomes to a verdict (METHOD.md section 6).

pub mod acceptance;
mod score;

pub use score::{JUDGE_VERSION, Observed, judge};
