//! The entry: one kind or another, and the lock that makes two workers build once.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::types::{Environment, Progress, Request, Step};
use super::{EnvironmentError, host, uv};
use crate::domain::task::EnvironmentKind;

/// Finds or builds the environment of a task. Blocks; `progress` is called on this thread.
pub fn prepare(
    request: &Request,
    progress: &dyn Fn(Progress),
) -> Result<Environment, EnvironmentError> {
    std::fs::create_dir_all(&request.home).map_err(EnvironmentError::io(&request.home))?;
    // a virtual environment holds absolute paths: the home's real one
    let home = request
        .home
        .canonicalize()
        .map_err(EnvironmentError::io(&request.home))?;
    match request.spec.kind {
        EnvironmentKind::Uv => uv::prepare(request, &home, progress),
        EnvironmentKind::Host => host::prepare(request, &home),
        EnvironmentKind::Image => Err(EnvironmentError::Image),
    }
}

/// Takes an advisory lock, waiting for whoever holds it. It is let go when the file and every
/// process that was given it are gone.
pub(super) fn wait_for_lock(
    path: &Path,
    stop: &AtomicBool,
    what: &str,
    progress: &dyn Fn(Progress),
) -> Result<File, EnvironmentError> {
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(path)
        .map_err(EnvironmentError::io(path))?;
    let mut said = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(EnvironmentError::io(path)(error)),
            Err(TryLockError::WouldBlock) => {}
        }
        if !said {
            said = true;
            progress(Progress::new(
                Step::Wait,
                format!("another process makes {what}: waiting for it"),
            ));
        }
        if stop.load(Ordering::Relaxed) {
            return Err(EnvironmentError::Stopped);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
