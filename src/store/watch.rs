//! Changes in the store, told by the file system: no reader polls.

use std::path::{Path, PathBuf};

use notify::{RecursiveMode, Watcher};

use super::home::StoreError;

/// Calls back with the paths that changed. Dropping it ends the watch.
pub struct Watch {
    inner: notify::RecommendedWatcher,
}

impl Watch {
    pub fn new(mut changed: impl FnMut(Vec<PathBuf>) + Send + 'static) -> Result<Self, StoreError> {
        let inner = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if let Ok(event) = event
                && !matches!(event.kind, notify::EventKind::Access(_))
            {
                changed(event.paths);
            }
        })
        .map_err(|e| StoreError::Io {
            path: PathBuf::new(),
            source: std::io::Error::other(e.to_string()),
        })?;
        Ok(Self { inner })
    }

    /// Watches one folder, not what lies below it.
    pub fn add(&mut self, folder: &Path) -> Result<(), StoreError> {
        self.inner
            .watch(folder, RecursiveMode::NonRecursive)
            .map_err(|e| StoreError::Io {
                path: folder.to_path_buf(),
                source: std::io::Error::other(e.to_string()),
            })
    }

    pub fn remove(&mut self, folder: &Path) {
        // a folder that is gone already needs no watch
        let _ = self.inner.unwatch(folder);
    }
}
