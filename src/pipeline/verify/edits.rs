//! Edits of a task's folder, as they come.

use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, sleep_until, timeout};

use crate::pipeline::error::Stop;
use crate::store::{Watch, now_s};

/// Programs write a file in several steps: an edit is over when nothing comes for so long.
const QUIET: Duration = Duration::from_millis(15);
/// Somebody who never stops writing is not waited for longer than this.
const LONGEST: Duration = Duration::from_millis(500);

/// Told by the file system; no folder is polled.
pub(super) struct Edits {
    dir: PathBuf,
    watch: Watch,
    changes: UnboundedReceiver<Vec<PathBuf>>,
}

/// What was edited.
#[derive(Debug, Default)]
pub(super) struct Edit {
    /// In the task's folder.
    pub paths: Vec<String>,
    /// When the newest of it was written, in seconds since the epoch.
    pub at_s: f64,
}

impl Edits {
    /// From now on, in the folder and all below it.
    pub fn of(dir: &Path) -> Result<Self, Stop> {
        let fault =
            |e: &dyn std::fmt::Display| Stop::Fault(format!("watching {}: {e}", dir.display()));
        let (sender, changes) = unbounded_channel();
        let watch = Watch::new(move |paths| {
            let _ = sender.send(paths);
        });
        let mut edits = Self {
            dir: dir.canonicalize().map_err(|e| fault(&e))?,
            watch: watch.map_err(|e| fault(&e))?,
            changes,
        };
        edits.watch.add(&edits.dir).map_err(|e| fault(&e))?;
        edits.add_below(&edits.dir.clone());
        Ok(edits)
    }

    /// Folders come and go while they are added: what is gone needs no watch.
    fn add_below(&mut self, folder: &Path) {
        let mut left = vec![folder.to_path_buf()];
        while let Some(folder) = left.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_folder && name != "__pycache__" && name != ".git" {
                    let _ = self.watch.add(&entry.path());
                    left.push(entry.path());
                }
            }
        }
    }

    /// The next edit; `None`: there was none until then.
    pub async fn next(&mut self, until: Instant) -> Option<Edit> {
        let first = tokio::select! {
            biased;
            first = self.changes.recv() => first?,
            () = sleep_until(until) => return None,
        };
        let mut paths = first;
        let longest = Instant::now() + LONGEST;
        while Instant::now() < longest {
            match timeout(QUIET, self.changes.recv()).await {
                Ok(Some(more)) => paths.extend(more),
                _ => break,
            }
        }
        paths.sort();
        paths.dedup();
        for path in &paths {
            if path.is_dir() {
                let _ = self.watch.add(path);
                self.add_below(path);
            }
        }
        let written = |path: &PathBuf| {
            let at = std::fs::metadata(path).ok()?.modified().ok()?;
            Some(at.duration_since(UNIX_EPOCH).ok()?.as_secs_f64())
        };
        // nothing is written in the future, whatever a clock said
        let newest = paths.iter().filter_map(written).fold(0.0, f64::max);
        let at_s = if newest > 0.0 {
            newest.min(now_s())
        } else {
            now_s()
        };
        let below = |path: &PathBuf| {
            let below = path.strip_prefix(&self.dir).ok()?;
            let below = below.to_string_lossy().into_owned();
            // what runs themselves leave there
            let ours = below.starts_with("acceptance.") || below.starts_with("calibrations");
            (!below.is_empty() && !ours).then_some(below)
        };
        Some(Edit {
            paths: paths.iter().filter_map(below).collect(),
            at_s,
        })
    }
}
