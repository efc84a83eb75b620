//! Which files differ between two trees of a snapshot.

use std::collections::BTreeSet;

use git2::{DiffOptions, Oid};

use super::error::WorkspaceError;
use super::snapshot::Snapshot;

impl Snapshot {
    /// Paths whose content or mode is not the same in both trees, sorted.
    pub fn differing(&self, left: Oid, right: Oid) -> Result<Vec<Vec<u8>>, WorkspaceError> {
        let repo = self.repo();
        let git = || WorkspaceError::git(self.dir());
        let left = repo.find_tree(left).map_err(git())?;
        let right = repo.find_tree(right).map_err(git())?;
        let mut options = DiffOptions::new();
        let diff = repo
            .diff_tree_to_tree(Some(&left), Some(&right), Some(&mut options))
            .map_err(git())?;
        let mut paths = BTreeSet::new();
        for delta in diff.deltas() {
            for file in [delta.old_file(), delta.new_file()] {
                paths.extend(file.path_bytes().map(<[u8]>::to_vec));
            }
        }
        Ok(paths.into_iter().collect())
    }
}
