//! New trees from old ones: files replaced, a folder taken from another tree.

use std::collections::BTreeMap;

use git2::{ObjectType, Oid};

use super::tree::{self, Edit, EditError};
use super::{Snapshot, WorkspaceError};

/// Mode of a plain file.
const FILE: i32 = 0o100_644;

impl Snapshot {
    /// `tree` with these files' contents; a file keeps its mode, a new one is plain. In memory.
    pub fn with_files(
        &self,
        tree: Oid,
        files: &[(String, Vec<u8>)],
    ) -> Result<Oid, WorkspaceError> {
        let repo = self.repo();
        let root = repo
            .find_tree(tree)
            .map_err(WorkspaceError::git(self.dir()))?;
        let mut edits = BTreeMap::new();
        for (path, bytes) in files {
            let id = repo
                .odb()
                .and_then(|odb| odb.write(ObjectType::Blob, bytes))
                .map_err(WorkspaceError::git(self.dir()))?;
            let mode = tree::find(&root, path.as_bytes(), &repo)
                .map_err(WorkspaceError::git(self.dir()))?
                .map_or(FILE, |(mode, _)| mode);
            edits.insert(path.as_bytes().to_vec(), Edit::Put { mode, id });
        }
        self.edited(&repo, &root, &edits)
    }

    /// `tree` with its folder `path` as `donor` has it; removed where `donor` has none.
    pub fn graft(&self, tree: Oid, donor: Oid, path: &str) -> Result<Oid, WorkspaceError> {
        let path = path.trim_matches('/').as_bytes();
        let repo = self.repo();
        let git = || WorkspaceError::git(self.dir());
        let root = repo.find_tree(tree).map_err(git())?;
        let donor = repo.find_tree(donor).map_err(git())?;
        let mut edits = BTreeMap::new();
        for (from, put) in [(&root, false), (&donor, true)] {
            let Some((mode, id)) = tree::find(from, path, &repo).map_err(git())? else {
                continue;
            };
            let mut edit = |path: &[u8], mode, id| {
                let edit = if put {
                    Edit::Put { mode, id }
                } else {
                    Edit::Remove
                };
                edits.insert(path.to_vec(), edit);
                Ok::<(), git2::Error>(())
            };
            if mode == tree::FOLDER {
                let folder = repo.find_tree(id).map_err(git())?;
                tree::for_each(&repo, &folder, &mut path.to_vec(), &mut edit).map_err(git())?;
            } else {
                edit(path, mode, id).map_err(git())?;
            }
        }
        self.edited(&repo, &root, &edits)
    }

    fn edited(
        &self,
        repo: &git2::Repository,
        root: &git2::Tree<'_>,
        edits: &BTreeMap<Vec<u8>, Edit>,
    ) -> Result<Oid, WorkspaceError> {
        tree::edit_tree(repo, Some(root), edits).map_err(|e| match e {
            EditError::Git(source) => WorkspaceError::git(self.dir())(source),
            EditError::Conflict { path, why } => WorkspaceError::BadName {
                name: format!("{} ({why})", String::from_utf8_lossy(&path)),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn paths(snapshot: &Snapshot, tree: Oid) -> Vec<String> {
        let files = snapshot.files(tree).unwrap();
        files
            .into_iter()
            .map(|(path, _)| String::from_utf8(path).unwrap())
            .collect()
    }

    #[test]
    fn files_are_replaced_and_folders_grafted() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().join("base");
        std::fs::create_dir_all(base.join("tests")).unwrap();
        std::fs::write(base.join("a.py"), "a = 1\n").unwrap();
        std::fs::write(base.join("tests/old.py"), "old\n").unwrap();
        let snapshot = Snapshot::from_dir(&base, &dir.path().join("store")).unwrap();
        let changed = snapshot
            .with_files(
                snapshot.tree(),
                &[
                    ("a.py".into(), b"a = 2\n".to_vec()),
                    ("tests/new.py".into(), b"new\n".to_vec()),
                ],
            )
            .unwrap();
        assert_eq!(
            snapshot.file(changed, b"a.py").unwrap().unwrap(),
            b"a = 2\n"
        );
        assert_eq!(
            paths(&snapshot, changed),
            ["a.py", "tests/new.py", "tests/old.py"]
        );
        let back = snapshot.graft(changed, snapshot.tree(), "tests").unwrap();
        assert_eq!(paths(&snapshot, back), ["a.py", "tests/old.py"]);
        let none = snapshot.graft(changed, snapshot.tree(), "nowhere").unwrap();
        assert_eq!(none, changed);
    }
}
