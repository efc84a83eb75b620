//! Solutions of a task beside each other: which files differ, and what stands in them.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    open: Mutex<HashMap<PathBuf, Arc<Opened>>>,
}

struct Opened {
    trees: Trees,
    /// What patches made of base, by their file and how that stood: one of megabytes is applied once,
    /// not for every file that is looked at.
    made: Mutex<HashMap<PathBuf, (Standing, Oid)>>,
}

/// Modification time, size and inode.
type Standing = (i64, i64, u64, u64);

fn standing(file: &Path) -> Option<Standing> {
    let m = std::fs::metadata(file).ok()?;
    Some((m.mtime(), m.mtime_nsec(), m.size(), m.ino()))
}

impl Opened {
    fn tree_of(&self, home: &Home, task: &Task, source: &Source) -> Result<Oid, String> {
        let file = patch_file(home, task, source);
        let now = file.as_ref().and_then(|file| Some((file, standing(file)?)));
        let Some((file, now)) = now else {
            return tree_of(home, &self.trees, task, source);
        };
        if let Some((then, tree)) = lock(&self.made).get(file)
            && *then == now
        {
            return Ok(*tree);
        }
        let tree = tree_of(home, &self.trees, task, source)?;
        lock(&self.made).insert(file.clone(), (now, tree));
        Ok(tree)
    }
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
        lock(&self.open).clear();
    }

    fn opened(&self, task: &Task) -> Result<Arc<Opened>, String> {
        if let Some(opened) = lock(&self.open).get(&task.dir) {
            return Ok(Arc::clone(opened));
        }
        let opened = Arc::new(Opened {
            trees: Trees::open(&self.home, task).map_err(words)?,
            made: Mutex::default(),
        });
        lock(&self.open).insert(task.dir.clone(), Arc::clone(&opened));
        Ok(opened)
    }

    /// The files that differ between two solutions, by path.
    pub fn changes(
        &self,
        task: &Task,
        left: &Source,
        right: &Source,
    ) -> Result<Vec<FileStat>, String> {
        let opened = self.opened(task)?;
        let left = opened.tree_of(&self.home, task, left)?;
        let right = opened.tree_of(&self.home, task, right)?;
        let diff = opened.trees.snapshot.diff_trees(left, right);
        diff.map(|diff| diff.files).map_err(|e| e.to_string())
    }

    /// One file of a solution's tree.
    pub fn file(
        &self,
        task: &Task,
        source: &Source,
        path: &[u8],
    ) -> Result<Option<Vec<u8>>, String> {
        let opened = self.opened(task)?;
        let tree = opened.tree_of(&self.home, task, source)?;
        opened
            .trees
            .snapshot
            .file(tree, path)
            .map_err(|e| e.to_string())
    }

    /// Files of a solution's tree; `None`: not there.
    pub fn files(
        &self,
        task: &Task,
        source: &Source,
        paths: &[String],
    ) -> Result<Vec<Option<Vec<u8>>>, String> {
        let opened = self.opened(task)?;
        let tree = opened.tree_of(&self.home, task, source)?;
        let file = |path: &String| opened.trees.snapshot.file(tree, path.as_bytes());
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
        let opened = self.opened(task)?;
        opened.trees.test_file(path)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where a source's patch stands; none has base, gold, and a submission that left none.
fn patch_file(home: &Home, task: &Task, source: &Source) -> Option<PathBuf> {
    match source {
        Source::Base | Source::Gold => None,
        Source::Submission { name } => task.submission(name).and_then(Submission::patch_path),
        Source::Patch { file } => Some(file.clone()),
        Source::Agent { run, .. } => Some(home.run(run).patch_path()),
    }
}

/// What a source makes of base.
pub(super) fn tree_of(
    home: &Home,
    trees: &Trees,
    task: &Task,
    source: &Source,
) -> Result<Oid, String> {
    match source {
        Source::Base => return Ok(trees.base),
        Source::Gold => return Ok(trees.gold),
        _ => {}
    }
    let file = patch_file(home, task, source);
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
