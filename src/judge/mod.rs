//! PURE: from outcomes to a verdict (METHOD.md section 6).

mod score;

pub use score::{JUDGE_VERSION, Observed, judge};
