//! The acceptance of a task: in the run that made it, and in the task's folder, where it travels.

use std::path::PathBuf;

use sha2::{Digest, Sha256};

use super::home::StoreError;
use super::run::{RunDir, read_json, write_json};
use crate::domain::{Acceptance, Task, hex};

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

/// Keeps it in the run, and in the task's folder where that can be written. The path there; none: it
/// is provisional, and the run's alone.
pub fn keep_acceptance(
    run: &RunDir,
    task: &Task,
    made: &mut Acceptance,
) -> Result<Option<Result<PathBuf, StoreError>>, StoreError> {
    made.digest = digest(made);
    write_json(&run.acceptance_path(), made)?;
    if made.provisional.is_some() {
        return Ok(None);
    }
    let path = acceptance_path(task);
    Ok(Some(write_json(&path, made).map(|()| path)))
}

/// Whether nobody has edited it since a verify wrote it.
pub fn is_as_written(made: &Acceptance) -> bool {
    !made.digest.is_empty() && made.digest == digest(made)
}

/// Of all but itself, as whoever reads it has it: a number may lose its last digit on the way.
fn digest(made: &Acceptance) -> String {
    let plain = Acceptance {
        digest: String::new(),
        ..made.clone()
    };
    let text = serde_json::to_vec(&plain).unwrap_or_default();
    let read = serde_json::from_slice::<Acceptance>(&text);
    let text = read.ok().and_then(|read| serde_json::to_vec(&read).ok());
    text.map_or(String::new(), |text| hex(&Sha256::digest(text)))
}
