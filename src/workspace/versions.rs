//! The versions of a task as plain files, for who reads sources rather than runs them: base, gold,
//! and the suites. Nothing is written to disk but base's snapshot in the home.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use git2::Oid;

use super::{Mirrors, Snapshot, Sources, SourcesError, TreeDiff, WorkspaceError};
use crate::domain::{Suite, Task};

/// Files by their path in the work tree. A path that is not UTF-8 is left out.
type Files = BTreeMap<String, Vec<u8>>;

/// Base and gold of a task.
pub struct Versions {
    snapshot: Arc<Snapshot>,
    base: Oid,
    gold: Oid,
    /// The gold commit with its tests, where the source is a repository.
    merged: Option<Oid>,
    /// The folders that the suites replace: no part of the change.
    suites: Vec<String>,
}

impl Versions {
    /// `store`: the home's snapshots.
    pub fn open(task: &Task, mirrors: &Mirrors, store: &Path) -> Result<Self, SourcesError> {
        Ok(Self::of(task, Sources::open(task, mirrors, store)?)?)
    }

    /// Of trees that are open already.
    pub fn of(task: &Task, sources: Sources) -> Result<Self, WorkspaceError> {
        let suites: Vec<String> = Suite::ALL
            .iter()
            .filter_map(|s| task.spec.suites.get(*s))
            .map(|s| s.into.trim_matches('/').to_owned())
            .collect();
        let Sources {
            snapshot,
            base,
            mut gold,
            merged,
        } = sources;
        // tests come with the suites, whatever a patch of gold's does there
        for folder in &suites {
            gold = snapshot.graft(gold, base, folder)?;
        }
        Ok(Self {
            snapshot,
            base,
            gold,
            merged,
            suites,
        })
    }

    /// Base's Python files and all others that gold changes, outside the suites' folders.
    pub fn base(&self) -> Result<Files, WorkspaceError> {
        self.read(self.base)
    }

    /// As [`Versions::base`], of gold.
    pub fn gold(&self) -> Result<Files, WorkspaceError> {
        self.read(self.gold)
    }

    /// One file of gold.
    pub fn gold_file(&self, path: &str) -> Result<Option<Vec<u8>>, WorkspaceError> {
        self.snapshot.file(self.gold, path.as_bytes())
    }

    fn read(&self, tree: Oid) -> Result<Files, WorkspaceError> {
        let changed: Vec<Vec<u8>> = (self.snapshot.diff_trees(self.base, self.gold)?.files)
            .into_iter()
            .map(|f| f.path)
            .collect();
        self.files(tree, |path| {
            let suite = self.suites.iter().any(|s| inside(s, path));
            let wanted = is_python(path) || changed.iter().any(|c| c == path.as_bytes());
            wanted && !suite
        })
    }

    /// The Python files of a suite, by their place in the work tree.
    pub fn suite(&self, task: &Task, suite: Suite) -> Result<Files, SourcesError> {
        let Some(spec) = task.spec.suites.get(suite) else {
            return Ok(Files::new());
        };
        let into = spec.into.trim_matches('/');
        let (tree, prefix) = if let Some(from) = &spec.from {
            let tree = self.snapshot.import_dir(&task.path(from))?;
            (tree, format!("{into}/"))
        } else {
            let what = format!("task {} has no {suite} suite", task.id());
            let merged = self.merged.ok_or(SourcesError::Task { what })?;
            (merged, String::new())
        };
        let found = self.files(tree, |path| {
            is_python(path) && (!prefix.is_empty() || inside(into, path))
        })?;
        // of a large suite only what runs, and the helpers beside and above it
        let runs = |path: &str| {
            spec.paths.is_empty()
                || spec.paths.iter().any(|p| {
                    let p = p.split("::").next().unwrap_or(p).trim_matches('/');
                    let beside = |folder: &str| p == folder || inside(folder, p);
                    let helper = !is_test_file(path) && beside(folder(path));
                    inside(p, path) || p == path || helper
                })
        };
        Ok(found
            .into_iter()
            .map(|(path, bytes)| (format!("{prefix}{path}"), bytes))
            .filter(|(path, _)| runs(path))
            .collect())
    }

    /// The tests that base has in the folder of the official suite.
    pub fn base_tests(&self, task: &Task) -> Result<Files, WorkspaceError> {
        let into = task.spec.suites.official.into.trim_matches('/');
        self.files(self.base, |path| is_python(path) && inside(into, path))
    }

    /// What leads from base to gold with these files over it.
    pub fn patch(&self, over_gold: &Files) -> Result<TreeDiff, WorkspaceError> {
        let files: Vec<(String, Vec<u8>)> = over_gold.clone().into_iter().collect();
        let tree = self.snapshot.with_files(self.gold, &files)?;
        self.snapshot.diff_trees(self.base, tree)
    }

    fn files(&self, tree: Oid, wanted: impl Fn(&str) -> bool) -> Result<Files, WorkspaceError> {
        const LINK: u32 = 0o120_000;
        let mut found = Files::new();
        for (path, mode) in self.snapshot.files(tree)? {
            let Ok(path) = String::from_utf8(path) else {
                continue;
            };
            if mode != LINK
                && wanted(&path)
                && let Some(bytes) = self.snapshot.file(tree, path.as_bytes())?
            {
                found.insert(path, bytes);
            }
        }
        Ok(found)
    }
}

fn is_python(path: &str) -> bool {
    crate::python::is_python(path)
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// As pytest finds them.
fn is_test_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.starts_with("test_") || name.ends_with("_test.py")
}

fn inside(folder: &str, path: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|r| r.starts_with('/'))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::apply;
    use super::*;
    use crate::catalog::load_task;

    #[test]
    fn the_change_is_without_its_tests_and_a_patch_of_it_applies() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tasks/dp-buckets");
        let task = load_task(&dir).task.unwrap();
        let store = tempfile::tempdir().unwrap();
        let versions = Versions::open(&task, &Mirrors::new(Vec::new()), store.path()).unwrap();
        let (base, gold) = (versions.base().unwrap(), versions.gold().unwrap());
        assert!(!base.contains_key("tandem/parallel/reducer.py"));
        assert!(gold.contains_key("tandem/parallel/reducer.py"));
        assert!(
            base.keys()
                .chain(gold.keys())
                .all(|p| !p.starts_with("tests/"))
        );
        let official = versions.suite(&task, Suite::Official).unwrap();
        assert!(official.contains_key("tests/test_buckets.py"));
        assert!(
            !versions
                .base_tests(&task)
                .unwrap()
                .contains_key("tests/test_buckets.py")
        );
        assert!(
            versions
                .suite(&task, Suite::Probes)
                .unwrap()
                .contains_key("probes/support.py")
        );
        // gold itself, and gold with a file changed
        let snapshot = Snapshot::from_dir(&dir.join("base"), store.path()).unwrap();
        for over in [
            Files::new(),
            Files::from([("tandem/train.py".into(), b"x = 1\n".to_vec())]),
        ] {
            let patch = versions.patch(&over).unwrap().patch;
            let tree = apply(&snapshot, &patch).unwrap().tree;
            let train = snapshot.file(tree, b"tandem/train.py").unwrap().unwrap();
            let expected = over
                .get("tandem/train.py")
                .unwrap_or(&gold["tandem/train.py"]);
            assert_eq!(&train, expected);
        }
    }
}
