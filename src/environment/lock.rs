//! Advisory locks on files of the home: one builder of an environment at a time, and no collector
//! under whoever builds or uses one.
//!
//! A lock is let go when its file and every process that was given it are gone, however they went.
//! Lock files may be removed by whoever holds them: a lock counts only on the file that is found
//! under its name.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use super::EnvironmentError;
use super::types::{Progress, Step};

/// Taken by one, or by several at once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Alone,
    Together,
}

/// Takes the lock if that needs no waiting; makes the file.
pub(super) fn try_lock(path: &Path, mode: Mode) -> Result<Option<File>, EnvironmentError> {
    loop {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path)
            .map_err(EnvironmentError::io(path))?;
        let taken = match mode {
            Mode::Alone => file.try_lock(),
            Mode::Together => file.try_lock_shared(),
        };
        match taken {
            Ok(()) if is_under_its_name(&file, path) => return Ok(Some(file)),
            // removed meanwhile: the name stands for another file, or for none
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(EnvironmentError::io(path)(error)),
        }
    }
}

/// Takes the lock alone, waiting for whoever makes `what`.
pub(super) fn wait_for_lock(
    path: &Path,
    stop: &AtomicBool,
    what: &str,
    progress: &dyn Fn(Progress),
) -> Result<File, EnvironmentError> {
    wait(path, Mode::Alone, stop, &|| {
        progress(Progress::new(
            Step::Wait,
            format!("another process makes {what}: waiting for it"),
        ));
    })
}

/// Takes the lock; `waits` is called once where somebody has it.
pub(super) fn wait(
    path: &Path,
    mode: Mode,
    stop: &AtomicBool,
    waits: &dyn Fn(),
) -> Result<File, EnvironmentError> {
    let mut said = false;
    loop {
        if let Some(file) = try_lock(path, mode)? {
            return Ok(file);
        }
        if !said {
            said = true;
            waits();
        }
        if stop.load(Ordering::Relaxed) {
            return Err(EnvironmentError::Stopped);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Whether somebody holds the lock, alone or together; makes no file.
pub(super) fn is_locked(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

fn is_under_its_name(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(held), Ok(named)) => (held.dev(), held.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

/// Keeps an environment from being collected for as long as it, or a clone of it, lives. Its file's
/// modification time tells when the environment was last handed out.
#[derive(Clone, Debug, Default)]
pub struct Hold {
    file: Option<Arc<File>>,
}

impl Hold {
    /// Dates the environment. Waits while it is being collected: look then whether it is there.
    pub(super) fn take(
        environments: &Path,
        hash: &str,
        stop: &AtomicBool,
    ) -> Result<Self, EnvironmentError> {
        let hold = Self::look(environments, hash, stop)?;
        if let Some(file) = &hold.file {
            let _ = file.set_modified(SystemTime::now());
        }
        Ok(hold)
    }

    /// As [`Hold::take`], and does not count as a use.
    pub(super) fn look(
        environments: &Path,
        hash: &str,
        stop: &AtomicBool,
    ) -> Result<Self, EnvironmentError> {
        match wait(&use_file(environments, hash), Mode::Together, stop, &|| {}) {
            Ok(file) => Ok(Self {
                file: Some(Arc::new(file)),
            }),
            // where nothing can be written nothing can be collected either
            Err(EnvironmentError::Io { .. }) => Ok(Self::default()),
            Err(other) => Err(other),
        }
    }
}

/// Two environments are the same whoever holds them.
impl PartialEq for Hold {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Held alone by whoever builds or collects.
pub(super) fn lock_file(environments: &Path, hash: &str) -> PathBuf {
    environments.join(format!("{hash}.lock"))
}

/// Held together by those who use, alone by whoever collects.
pub(super) fn use_file(environments: &Path, hash: &str) -> PathBuf {
    environments.join(format!("{hash}.use"))
}

/// Held together by those who build, alone by whoever collects from uv's cache.
pub(super) fn cache_lock_file(home: &Path) -> PathBuf {
    home.join("cache").join("uv-cache.lock")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_lock_on_a_removed_file_is_no_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let first = try_lock(&path, Mode::Alone).unwrap().unwrap();
        assert!(try_lock(&path, Mode::Alone).unwrap().is_none());
        // who waits has the old file open already
        let waiting = {
            let path = path.clone();
            std::thread::spawn(move || {
                wait_for_lock(&path, &AtomicBool::new(false), "it", &|_| {}).unwrap()
            })
        };
        std::thread::sleep(Duration::from_millis(120));
        std::fs::remove_file(&path).unwrap();
        drop(first);
        let second = waiting.join().unwrap();
        assert!(is_under_its_name(&second, &path));
        assert!(try_lock(&path, Mode::Alone).unwrap().is_none());
    }

    #[test]
    fn who_uses_an_environment_keeps_it_and_dates_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = use_file(folder.path(), "abc");
        let take = || Hold::take(folder.path(), "abc", &AtomicBool::new(false)).unwrap();
        let hold = take();
        let file = File::open(&path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        let another = take();
        let used = std::fs::metadata(&path).unwrap().modified().unwrap();
        assert!(used.elapsed().unwrap() < Duration::from_secs(60));
        let clone = another.clone();
        drop((hold, another));
        assert!(is_locked(&path));
        assert!(try_lock(&path, Mode::Alone).unwrap().is_none());
        drop(clone);
        assert!(!is_locked(&path));
        let collector = try_lock(&path, Mode::Alone).unwrap().unwrap();
        let stopped = Hold::take(folder.path(), "abc", &AtomicBool::new(true));
        assert!(matches!(stopped, Err(EnvironmentError::Stopped)));
        drop(collector);
    }
}
