//! The wall clock, in one place.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since the epoch.
pub fn now_s() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |d| d.as_secs_f64())
}
