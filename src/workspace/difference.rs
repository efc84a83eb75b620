//! The difference of two trees as a patch.

use git2::{Delta, DiffOptions, Oid, Patch};

use super::{Snapshot, WorkspaceError};
use crate::diff::patch::{Change, quote};

/// A whole patch: binary data, full ids, no renames; our own apply and git's take it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeDiff {
    pub patch: Vec<u8>,
    pub files: Vec<FileStat>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStat {
    pub path: Vec<u8>,
    pub change: Change,
    pub added: usize,
    pub removed: usize,
    pub binary: bool,
    /// Of both sides, where they differ.
    pub modes: Option<[u32; 2]>,
}

impl Snapshot {
    /// What leads from `old` to `new`. A file that turns into a symlink is deleted and made.
    pub fn diff_trees(&self, old: Oid, new: Oid) -> Result<TreeDiff, WorkspaceError> {
        let git = || WorkspaceError::git(self.dir());
        let repo = self.repo();
        let old = repo.find_tree(old).map_err(git())?;
        let new = repo.find_tree(new).map_err(git())?;
        let mut options = DiffOptions::new();
        options
            .show_binary(true)
            .id_abbrev(40)
            .context_lines(3)
            .indent_heuristic(true)
            .ignore_submodules(true)
            .include_typechange(false);
        let diff = repo
            .diff_tree_to_tree(Some(&old), Some(&new), Some(&mut options))
            .map_err(git())?;
        let mut found = TreeDiff::default();
        for index in 0..diff.deltas().len() {
            let Some(delta) = diff.get_delta(index) else {
                continue;
            };
            let change = match delta.status() {
                Delta::Added => Change::Add,
                Delta::Deleted => Change::Delete,
                _ => Change::Modify,
            };
            let side = if change == Change::Delete {
                delta.old_file()
            } else {
                delta.new_file()
            };
            let mut stat = FileStat {
                path: side.path_bytes().unwrap_or_default().to_vec(),
                change,
                added: 0,
                removed: 0,
                binary: false,
                modes: None,
            };
            let modes = [delta.old_file().mode(), delta.new_file().mode()].map(u32::from);
            if change == Change::Modify && modes[0] != modes[1] {
                stat.modes = Some(modes);
            }
            if change == Change::Modify && delta.old_file().id() == delta.new_file().id() {
                // libgit2 prints "Binary files differ" for a binary file whose mode alone changed
                mode_only(&mut found.patch, &stat.path, modes);
            } else if let Some(mut patch) = Patch::from_diff(&diff, index).map_err(git())? {
                stat.binary = patch.delta().flags().is_binary();
                if !stat.binary {
                    (_, stat.added, stat.removed) = patch.line_stats().map_err(git())?;
                }
                let text = patch.to_buf().map_err(git())?;
                found.patch.extend_from_slice(&text);
            }
            found.files.push(stat);
        }
        Ok(found)
    }
}

fn mode_only(patch: &mut Vec<u8>, path: &[u8], [old, new]: [u32; 2]) {
    patch.extend_from_slice(b"diff --git ");
    patch.extend_from_slice(&quote(&[b"a/", path].concat()));
    patch.push(b' ');
    patch.extend_from_slice(&quote(&[b"b/", path].concat()));
    patch.extend_from_slice(format!("\nold mode {old:06o}\nnew mode {new:06o}\n").as_bytes());
}
