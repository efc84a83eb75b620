//! The capture as a whole: the walk, the patch, and the proof that the one is the other.

use std::path::Path;

use git2::Oid;

use super::super::repository::first_commit;
use super::super::tree::EditError;
use super::super::{FileStat, Snapshot, WorkspaceError, apply};
use super::history;
use super::outward::inside;
use super::tree::Walk;
use crate::diff::patch::show;
use crate::domain::CaptureNote;

/// What a work tree changed over base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// Empty where nothing changed. Applied to base by [`super::super::apply`] it gives `tree`,
    /// which has been tried.
    pub patch: Vec<u8>,
    /// Base with exactly the captured changes.
    pub tree: Oid,
    pub files: Vec<FileStat>,
    /// What is no part of the patch, or is told beside it; by kind, then by path.
    pub notes: Vec<CaptureNote>,
    /// Notes beyond those that are listed.
    pub more_notes: usize,
}

impl Snapshot {
    /// What `work` changed over the tree `base`, whatever git would make of it. Nothing may run in
    /// `work` meanwhile. A file or folder of ours that cannot be read is given the right first.
    pub fn capture(&self, work: &Path, base: Oid) -> Result<Capture, WorkspaceError> {
        let git = || WorkspaceError::git(self.dir());
        let unproven = |why: String| WorkspaceError::Unproven {
            work: work.to_path_buf(),
            why,
        };
        let (tree, notes) = {
            let repo = self.repo();
            let odb = repo.odb().map_err(git())?;
            let root = repo.find_tree(base).map_err(git())?;
            let start = first_commit(&repo, base).map_err(git())?;
            let (mut edits, mut notes) = Walk::new(&repo, &odb, self.dir(), work).edits(&root)?;
            history::look(work, &start.to_string(), &mut notes);
            let tree = inside(&repo, &root, &mut edits, &mut notes).map_err(|e| match e {
                EditError::Git(source) => git()(source),
                EditError::Conflict { path, why } => unproven(format!("{}: {why}", show(&path))),
            })?;
            (tree, notes)
        };
        let diff = self.diff_trees(base, tree)?;
        let again = if diff.patch.is_empty() {
            base
        } else {
            let applied = apply::apply_to(self, base, &diff.patch).map_err(|e| match e {
                apply::ApplyError::Refused(refused) => unproven(refused.message),
                apply::ApplyError::Workspace(e) => e,
            })?;
            applied.tree
        };
        if again != tree {
            return Err(unproven("it makes another tree".into()));
        }
        let (notes, more_notes) = notes.finish();
        Ok(Capture {
            patch: diff.patch,
            tree,
            files: diff.files,
            notes,
            more_notes,
        })
    }
}
