//! Who has signed a task's claims: in the task's folder, where it travels.

use std::path::PathBuf;

use super::home::StoreError;
use super::run::{read_json, write_json};
use crate::domain::Task;
use crate::domain::coverage::{SIGNOFF_VERSION, Signoffs};

/// In a task's folder.
const FILE: &str = "signoff.json";

pub fn signoff_path(task: &Task) -> PathBuf {
    task.path(FILE)
}

/// What the task's folder has; nothing where there is no file.
pub fn recorded_signoffs(task: &Task) -> Result<Signoffs, StoreError> {
    let path = signoff_path(task);
    match std::fs::symlink_metadata(&path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Signoffs::default()),
        Err(source) => return Err(StoreError::Io { path, source }),
        Ok(found) if !found.is_file() => {
            let source = std::io::Error::other("no plain file");
            return Err(StoreError::Io { path, source });
        }
        Ok(_) => {}
    }
    let signoffs: Signoffs = read_json(&path)?;
    if signoffs.schema != SIGNOFF_VERSION {
        return Err(StoreError::Malformed {
            path,
            line: 1,
            message: format!("schema {} is not known here", signoffs.schema),
        });
    }
    Ok(signoffs)
}

pub fn keep_signoffs(task: &Task, signoffs: &Signoffs) -> Result<PathBuf, StoreError> {
    let path = signoff_path(task);
    write_json(&path, signoffs)?;
    Ok(path)
}
