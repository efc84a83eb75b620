//! Solutions of a task beside each other: which files differ, and what stands in them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use git2::Oid;

use super::error::Stop;
use super::trees::{Patch, Trees, Unchanged};
use crate::domain::{Source, Submission, Suite, Task};
use crate::store::Home;
use crate::workspace::FileStat;

/// Opens the trees of tasks once and answers about them; safe to share between threads.
pub struct Comparer {
    home: Home,
    /// By the task's folder.
    open: Mutex<HashMap<PathBuf, Arc<Trees>>>,
}

fn words(stop: Stop) -> String {
    match stop {
        Stop::Input(message) | Stop::Fault(message) => message,
        Stop::Cancelled => "cancelled".into(),
    }
}

impl Comparer {
    pub fn new(home: Home) -> Self {
        Self {
            home,
            open: Mutex::default(),
        }
    }

    /// Forgets what was opened: tasks changed on disk.
    pub fn forget(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, Arc<Trees>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn trees(&self, task: &Task) -> Result<Arc<Trees>, String> {
        if let Some(trees) = self.lock().get(&task.dir) {
            return Ok(Arc::clone(trees));
        }
        let trees = Arc::new(Trees::open(&self.home, task).map_err(words)?);
        self.lock().insert(task.dir.clone(), Arc::clone(&trees));
        Ok(trees)
    }

    /// The files that differ between two solutions, by path.
    pub fn changes(
        &self,
        task: &Task,
        left: &Source,
        right: &Source,
    ) -> Result<Vec<FileStat>, String> {
        let trees = self.trees(task)?;
        let left = tree_of(&self.home, &trees, task, left)?;
        let right = tree_of(&self.home, &trees, task, right)?;
        let diff = trees.snapshot.diff_trees(left, right);
        diff.map(|diff| diff.files).map_err(|e| e.to_string())
    }

    /// One file of a solution's tree.
    pub fn file(
        &self,
        task: &Task,
        source: &Source,
        path: &[u8],
    ) -> Result<Option<Vec<u8>>, String> {
        let trees = self.trees(task)?;
        let tree = tree_of(&self.home, &trees, task, source)?;
        trees.snapshot.file(tree, path).map_err(|e| e.to_string())
    }

    /// Files of a solution's tree; `None`: not there.
    pub fn files(
        &self,
        task: &Task,
        source: &Source,
        paths: &[String],
    ) -> Result<Vec<Option<Vec<u8>>>, String> {
        let trees = self.trees(task)?;
        let tree = tree_of(&self.home, &trees, task, source)?;
        let file = |path: &String| trees.snapshot.file(tree, path.as_bytes());
        let files: Result<Vec<_>, _> = paths.iter().map(file).collect();
        files.map_err(|e| e.to_string())
    }

    /// One file of a suite's tree, by its path in the work tree.
    pub fn test_file(
        &self,
        task: &Task,
        suite: Suite,
        path: &str,
    ) -> Result<Option<Vec<u8>>, String> {
        let Some(spec) = task.spec.suites.get(suite) else {
            return Ok(None);
        };
        let Ok(inside) = Path::new(path).strip_prefix(&spec.into) else {
            return Ok(None);
        };
        if !crate::domain::task::stays_inside(&inside.to_string_lossy()) {
            return Ok(None);
        }
        if let Some(from) = &spec.from {
            return match std::fs::read(task.path(from).join(inside)) {
                Ok(bytes) => Ok(Some(bytes)),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
                Err(e) => Err(format!("{path}: {e}")),
            };
        }
        let trees = self.trees(task)?;
        trees.test_file(path)
    }
}

/// What a source makes of base.
pub(super) fn tree_of(
    home: &Home,
    trees: &Trees,
    task: &Task,
    source: &Source,
) -> Result<Oid, String> {
    let file = match source {
        Source::Base => return Ok(trees.base),
        Source::Gold => return Ok(trees.gold),
        Source::Submission { name } => task.submission(name).and_then(Submission::patch_path),
        Source::Patch { file } => Some(file.clone()),
        Source::Agent { run, .. } => Some(home.run(run).patch_path()),
    };
    let patch = match file {
        None => Patch::Missing,
        Some(file) => Patch::read(&file).map_err(words)?,
    };
    match trees.change(&patch) {
        Ok(changed) => Ok(changed.tree),
        Err(Unchanged::Refused(refused)) => Err(format!(
            "the patch does not apply ({}): {}",
            refused.cause.name(),
            refused.message
        )),
        Err(Unchanged::Stop(stop)) => Err(words(stop)),
    }
}
