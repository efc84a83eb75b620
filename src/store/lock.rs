//! A run's lock: held by its worker, released by the kernel when that dies.

use std::fs::{File, OpenOptions};
use std::path::Path;

use nix::fcntl::{Flock, FlockArg};

use super::home::StoreError;

/// An exclusive advisory lock on a file; close-on-exec, so children never hold it.
pub struct Lock {
    _held: Flock<File>,
}

impl Lock {
    fn open(path: &Path) -> Result<File, StoreError> {
        OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path)
            .map_err(StoreError::io(path))
    }

    /// Takes the lock if nobody holds it.
    pub fn try_take(path: &Path) -> Result<Option<Self>, StoreError> {
        match Flock::lock(Self::open(path)?, FlockArg::LockExclusiveNonblock) {
            Ok(held) => Ok(Some(Self { _held: held })),
            Err((_, nix::errno::Errno::EWOULDBLOCK)) => Ok(None),
            Err((_, e)) => Err(StoreError::Io {
                path: path.to_path_buf(),
                source: e.into(),
            }),
        }
    }

    /// Waits for the lock.
    pub fn take(path: &Path) -> Result<Self, StoreError> {
        Flock::lock(Self::open(path)?, FlockArg::LockExclusive)
            .map(|held| Self { _held: held })
            .map_err(|(_, e)| StoreError::Io {
                path: path.to_path_buf(),
                source: e.into(),
            })
    }

    /// Whether somebody holds the lock; a look leaves no file behind.
    pub fn is_held(path: &Path) -> bool {
        let Ok(file) = File::open(path) else {
            return false;
        };
        matches!(
            Flock::lock(file, FlockArg::LockSharedNonblock),
            Err((_, nix::errno::Errno::EWOULDBLOCK))
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn one_holder_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        assert!(!Lock::is_held(&path));
        let first = Lock::try_take(&path).unwrap();
        assert!(first.is_some() && Lock::is_held(&path));
        assert!(Lock::try_take(&path).unwrap().is_none());
        drop(first);
        assert!(!Lock::is_held(&path));
        assert!(Lock::try_take(&path).unwrap().is_some());
    }
}
