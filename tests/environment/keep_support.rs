//! Two environments that share files, and the audit of a home.

use std::fs;
use std::path::{Path, PathBuf};

use infradev::environment::Environment;
use infradev::environment::keep::{EnvironmentsChecked, check};

use super::support::*;

/// The small lock without its last package.
pub fn smaller() -> &'static str {
    SMALL.split("pluggy==").next().unwrap()
}

/// Two environments that share what both have.
pub fn two(place: &Place) -> (Environment, Environment) {
    let request = place.request();
    let (small, _) = build(&request);
    fs::write(request.task_dir.join("requirements.lock"), smaller()).unwrap();
    let (smaller, _) = build(&request);
    assert_ne!(small.hash, smaller.hash);
    (small, smaller)
}

pub fn checked(home: &Path) -> EnvironmentsChecked {
    check(home, &[], &mut |_| {}).unwrap()
}

/// The cache's copy of a file of a package.
pub fn in_cache(home: &Path, end: &str) -> PathBuf {
    let cached = files(&home.join("cache/uv/archive-v0"));
    cached.into_iter().find(|f| f.ends_with(end)).unwrap()
}
