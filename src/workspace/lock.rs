//! One importer at a time for a snapshot, across processes.

use std::fs::{File, OpenOptions};
use std::path::Path;

use super::WorkspaceError;

/// Held until dropped; the file stays, so that two waiters always mean the same lock.
pub(super) struct Lock {
    _file: File,
}

/// Waits for the lock.
pub(super) fn lock(path: &Path) -> Result<Lock, WorkspaceError> {
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(WorkspaceError::io(path))?;
    file.lock().map_err(WorkspaceError::io(path))?;
    Ok(Lock { _file: file })
}
