//! The acceptance of a task: in the run that made it, and in the task's folder, where it travels.

use std::path::PathBuf;

use super::home::StoreError;
use super::run::{RunDir, read_json, write_json};
use crate::domain::{Acceptance, Task};

/// In a task's folder.
const FILE: &str = "acceptance.json";

pub fn acceptance_path(task: &Task) -> PathBuf {
    task.path(FILE)
}

/// What a verify run found.
pub fn made_acceptance(run: &RunDir) -> Result<Acceptance, StoreError> {
    read_json(&run.acceptance_path())
}

/// What the task's folder says, where it says something readable.
pub fn recorded_acceptance(task: &Task) -> Option<Acceptance> {
    let path = acceptance_path(task);
    let plain = std::fs::symlink_metadata(&path).is_ok_and(|m| m.is_file());
    plain.then(|| read_json(&path).ok()).flatten()
}

/// Keeps it in the run, and in the task's folder where that can be written. The path there.
pub fn keep_acceptance(
    run: &RunDir,
    task: &Task,
    made: &Acceptance,
) -> Result<Result<PathBuf, StoreError>, StoreError> {
    write_json(&run.acceptance_path(), made)?;
    let path = acceptance_path(task);
    Ok(write_json(&path, made).map(|()| path))
}
