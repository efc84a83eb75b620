//! Base and gold of a task as trees.

use std::path::Path;
use std::sync::Arc;

use git2::Oid;

use super::{ApplyError, Mirrors, Origin, Snapshot, WorkspaceError, apply};
use crate::domain::{Suite, Task};

/// Base and gold, as git objects in the home.
pub struct Sources {
    pub snapshot: Arc<Snapshot>,
    pub base: Oid,
    pub gold: Oid,
    /// The tree of the gold commit with its tests, where the task's source is a repository.
    pub merged: Option<Oid>,
}

#[derive(Debug, thiserror::Error)]
pub enum SourcesError {
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The task is wrong, in words.
    #[error("{what}")]
    Task { what: String },
}

impl Sources {
    /// Opens base (importing it once) and makes gold's tree. `store`: the home's snapshots.
    pub fn open(task: &Task, mirrors: &Mirrors, store: &Path) -> Result<Self, SourcesError> {
        let spec = &task.spec;
        let only = &spec.source.only;
        let origin = Origin::of(task, mirrors);
        let snapshot = match (&spec.source.base, &origin) {
            (Some(base), _) => Snapshot::from_dir(&task.path(base), store)?,
            (None, Some(origin)) => {
                let commit = spec.source.base_commit.as_deref().unwrap_or_default();
                Snapshot::from_git(origin, commit, only, store)?
            }
            (None, None) => {
                let what = format!("task {} has no source", task.id());
                return Err(SourcesError::Task { what });
            }
        };
        let base = snapshot.tree();
        let (gold, merged) = match (&spec.gold.commit, &origin) {
            (Some(commit), Some(origin)) => {
                let whole = snapshot.import_git(origin, commit, only)?;
                // gold is the change outside the suites' folders: tests come with the suites
                let mut gold = whole;
                for suite in Suite::ALL.iter().filter_map(|s| spec.suites.get(*s)) {
                    gold = snapshot.graft(gold, base, &suite.into)?;
                }
                (gold, Some(whole))
            }
            _ => (patched(&snapshot, task)?, None),
        };
        Ok(Self {
            snapshot: Arc::new(snapshot),
            base,
            gold,
            merged,
        })
    }
}

/// What gold's patch makes of base.
fn patched(snapshot: &Snapshot, task: &Task) -> Result<Oid, SourcesError> {
    let file = task.path(task.spec.gold.patch.as_deref().unwrap_or_default());
    let wrong = |what: String| SourcesError::Task {
        what: format!("{}: {what}", file.display()),
    };
    let bytes = std::fs::read(&file).map_err(|e| wrong(e.to_string()))?;
    apply(snapshot, &bytes)
        .map(|applied| applied.tree)
        .map_err(|e: ApplyError| wrong(format!("gold does not apply to base: {e}")))
}
