//! The trees of a task: base, gold, and what a patch makes of base.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use git2::Oid;

use super::error::Stop;
use crate::domain::event::PatchedFile;
use crate::domain::task::SuiteSpec;
use crate::domain::{Cause, Suite, Task};
use crate::python::edits;
use crate::store::Home;
use crate::workspace::{
    self, Absent, ApplyError, Mirrors, Snapshot, Sources, SourcesError, WorkspaceError,
};

/// Base and gold of a task, as git objects in the home.
pub struct Trees {
    pub snapshot: Arc<Snapshot>,
    pub base: Oid,
    pub gold: Oid,
    /// The tree of the gold commit with its tests, where the task's source is a repository.
    gold_commit: Option<Oid>,
}

/// A patch as it arrives.
pub enum Patch {
    /// The agent left none.
    Missing,
    Bytes(Vec<u8>),
    /// Edits by symbol, applied to gold; the path is for messages.
    Edits {
        text: String,
        file: PathBuf,
    },
    /// Gold of a repository commit.
    Gold,
}

impl Patch {
    /// A patch file, or edits by symbol where it is TOML; missing where there is no file.
    pub fn read(file: &Path) -> Result<Self, Stop> {
        let input = |e: &dyn std::fmt::Display| Stop::Input(format!("{}: {e}", file.display()));
        let bytes = match std::fs::read(file) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Self::Missing),
            Err(e) => return Err(input(&e)),
        };
        if file.extension().is_none_or(|e| e != "toml") {
            return Ok(Self::Bytes(bytes));
        }
        let text = String::from_utf8(bytes).map_err(|e| input(&e))?;
        Ok(Self::Edits {
            text,
            file: file.to_path_buf(),
        })
    }
}

/// What a patch made of base.
pub struct Changed {
    pub tree: Oid,
    pub method: String,
    pub files: Vec<PatchedFile>,
}

/// Why a patch is not graded further; scores 0.
pub struct PatchRefused {
    pub cause: Cause,
    pub message: String,
}

/// A refusal is the patch's fault, a stop the task's or ours.
pub enum Unchanged {
    Refused(PatchRefused),
    Stop(Stop),
}

/// Why a task has no trees here.
pub enum NoTrees {
    /// Its repository, or a part of it, is not on this machine.
    Absent(Absent),
    Stop(Stop),
}

impl From<SourcesError> for NoTrees {
    fn from(e: SourcesError) -> Self {
        match e {
            SourcesError::Workspace(WorkspaceError::Absent(absent)) => Self::Absent(absent),
            e => Self::Stop(Stop::Input(e.to_string())),
        }
    }
}

impl Trees {
    /// Opens base (importing it once) and makes gold's tree.
    pub fn open(home: &Home, task: &Task) -> Result<Self, Stop> {
        Self::find(home, task).map_err(|e| match e {
            NoTrees::Absent(absent) => {
                Stop::Input(format!("task {} cannot be used here: {absent}", task.id()))
            }
            NoTrees::Stop(stop) => stop,
        })
    }

    /// The same trees, for who reads their sources.
    pub fn sources(&self) -> Sources {
        Sources {
            snapshot: Arc::clone(&self.snapshot),
            base: self.base,
            gold: self.gold,
            merged: self.gold_commit,
        }
    }

    /// As [`Trees::open`], and tells a source that is not on this machine from all else.
    pub fn find(home: &Home, task: &Task) -> Result<Self, NoTrees> {
        let mirrors = Mirrors::from_env(Some(home.mirrors()));
        let Sources {
            snapshot,
            base,
            gold,
            merged,
        } = Sources::open(task, &mirrors, &home.snapshots())?;
        Ok(Self {
            snapshot,
            base,
            gold,
            gold_commit: merged,
        })
    }

    /// The folder that holds a suite's tests, written to `scratch` where it comes from a commit.
    pub fn suite_dir(&self, task: &Task, suite: Suite, scratch: &Path) -> Result<PathBuf, Stop> {
        let spec = suite_spec(task, suite)?;
        if let Some(from) = &spec.from {
            return Ok(task.path(from));
        }
        let dir = scratch.join(format!("suite-{suite}"));
        if dir.is_dir() {
            return Ok(dir);
        }
        self.snapshot
            .write_tree(self.suite_tree(spec, suite)?, &dir)
            .map_err(|e| Stop::Fault(e.to_string()))?;
        Ok(dir)
    }

    /// What a suite's tests are, for keys: the git tree where they come from a commit (nothing is
    /// written), else the folder's content hash.
    pub fn suite_hash(&self, task: &Task, suite: Suite) -> Result<String, Stop> {
        let spec = suite_spec(task, suite)?;
        match &spec.from {
            Some(from) => {
                workspace::hash_tree(&task.path(from)).map_err(|e| Stop::Fault(e.to_string()))
            }
            None => Ok(self.suite_tree(spec, suite)?.to_string()),
        }
    }

    /// The tests of a suite in the gold commit.
    fn suite_tree(&self, spec: &SuiteSpec, suite: Suite) -> Result<Oid, Stop> {
        self.gold_commit
            .map(|gold| self.snapshot.subtree(gold, &spec.into))
            .transpose()
            .map_err(|e| Stop::Fault(e.to_string()))?
            .flatten()
            .ok_or_else(|| {
                Stop::Input(format!(
                    "the gold commit has no folder {:?} for the {suite} suite",
                    spec.into
                ))
            })
    }

    /// A test file of the gold commit, where the task's source is a repository.
    pub fn test_file(&self, path: &str) -> Result<Option<Vec<u8>>, String> {
        match self.gold_commit {
            Some(commit) => self
                .snapshot
                .file(commit, path.as_bytes())
                .map_err(|e| e.to_string()),
            None => Ok(None),
        }
    }

    /// Applies a patch to base, or edits by symbol to gold.
    pub fn change(&self, patch: &Patch) -> Result<Changed, Unchanged> {
        let refuse = |cause, message: String| Unchanged::Refused(PatchRefused { cause, message });
        match patch {
            Patch::Missing => Err(refuse(
                Cause::Missing,
                "there is no patch: the submission left none".into(),
            )),
            Patch::Gold => Ok(Changed {
                tree: self.gold,
                method: "commit".into(),
                files: Vec::new(),
            }),
            Patch::Bytes(bytes) => match workspace::apply(&self.snapshot, bytes) {
                Ok(applied) => Ok(Changed {
                    tree: applied.tree,
                    method: applied.method.name().into(),
                    files: applied.files.iter().map(patched).collect(),
                }),
                Err(ApplyError::Refused(refused)) => Err(refuse(refused.cause, refused.message)),
                Err(ApplyError::Workspace(e)) => Err(Unchanged::Stop(Stop::Fault(e.to_string()))),
            },
            Patch::Edits { text, file } => {
                let read = |path: &str| {
                    self.snapshot
                        .file(self.gold, path.as_bytes())
                        .ok()
                        .flatten()
                };
                // edits are the task's own files: a target that is gone is an error in the task
                let files = edits::apply(text, file, read)
                    .map_err(|e| Unchanged::Stop(Stop::Input(e.to_string())))?;
                let tree = self
                    .snapshot
                    .with_files(self.gold, &files)
                    .map_err(|e| Unchanged::Stop(Stop::Fault(e.to_string())))?;
                if tree == self.base {
                    return Err(refuse(
                        Cause::Empty,
                        "the edits give base again: nothing changes".into(),
                    ));
                }
                let difference = self
                    .snapshot
                    .diff_trees(self.base, tree)
                    .map_err(|e| Unchanged::Stop(Stop::Fault(e.to_string())))?;
                let files = difference.files.iter().map(differing).collect();
                Ok(Changed {
                    tree,
                    method: "edits".into(),
                    files,
                })
            }
        }
    }
}

fn suite_spec(task: &Task, suite: Suite) -> Result<&SuiteSpec, Stop> {
    let none = || Stop::Input(format!("task {} has no {suite} suite", task.id()));
    task.spec.suites.get(suite).ok_or_else(none)
}

fn patched(file: &workspace::AppliedFile) -> PatchedFile {
    PatchedFile {
        path: String::from_utf8_lossy(&file.path).into_owned(),
        change: file.change.letter().to_string(),
        added: file.added,
        deleted: file.removed,
    }
}

pub(super) fn differing(file: &workspace::FileStat) -> PatchedFile {
    PatchedFile {
        path: String::from_utf8_lossy(&file.path).into_owned(),
        change: file.change.letter().to_string(),
        added: file.added,
        deleted: file.removed,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use git2::{Repository, Signature};

    use super::*;
    use crate::workspace::hash_tree;

    /// A commit with `calc.py` and the test, and its id.
    fn commit(repo: &Repository, source: &str, test: &str) -> String {
        let mut tests = repo.treebuilder(None).unwrap();
        let blob = repo.blob(test.as_bytes()).unwrap();
        tests.insert("test_calc.py", blob, 0o100_644).unwrap();
        let mut root = repo.treebuilder(None).unwrap();
        let blob = repo.blob(source.as_bytes()).unwrap();
        root.insert("calc.py", blob, 0o100_644).unwrap();
        root.insert("tests", tests.write().unwrap(), 0o040_000)
            .unwrap();
        let tree = repo.find_tree(root.write().unwrap()).unwrap();
        let who = Signature::now("t", "t@example.org").unwrap();
        let id = repo.commit(None, &who, &who, "", &tree, &[]).unwrap();
        id.to_string()
    }

    fn task(dir: &Path, base: &str, gold: &str) -> Task {
        let text = format!(
            "schema = 1\nid = \"t\"\ntitle = \"t\"\narea = \"training\"\nkind = \"feature\"\n\
             repository = \"t/t\"\n[source]\ngit = \"{}\"\nbase_commit = \"{base}\"\n\
             [gold]\ncommit = \"{gold}\"\n[environment]\nkind = \"host\"\n\
             [suites.official]\ninto = \"tests\"\n[suites.probes]\nfrom = \"probes\"\ninto = \"probes\"\n",
            dir.join("repo").display()
        );
        Task {
            spec: toml::from_str(&text).unwrap(),
            dir: dir.to_path_buf(),
            submissions: Vec::new(),
        }
    }

    #[test]
    fn a_suites_hash_changes_with_its_tests_and_with_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(&dir.path().join("home")).unwrap();
        let repo = Repository::init_bare(dir.path().join("repo")).unwrap();
        std::fs::create_dir(dir.path().join("probes")).unwrap();
        std::fs::write(dir.path().join("probes/test_p.py"), "1\n").unwrap();
        let base = commit(&repo, "base\n", "old\n");
        let hashes = |source: &str, test: &str| {
            let task = task(dir.path(), &base, &commit(&repo, source, test));
            let trees = Trees::open(&home, &task).unwrap();
            Suite::ALL.map(|suite| trees.suite_hash(&task, suite).unwrap())
        };
        let [official, probes] = hashes("gold\n", "new\n");
        assert_eq!(
            hashes("gold 2\n", "new\n"),
            [official.clone(), probes.clone()]
        );
        let [other, same] = hashes("gold\n", "newer\n");
        assert_ne!(other, official);
        assert_eq!(same, probes);
        assert_eq!(probes, hash_tree(&dir.path().join("probes")).unwrap());
        std::fs::write(dir.path().join("probes/test_p.py"), "2\n").unwrap();
        let [same, other] = hashes("gold\n", "new\n");
        assert_eq!(same, official);
        assert_ne!(other, probes);
    }

    #[test]
    fn a_commit_without_the_suites_folder_is_the_tasks_error() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(&dir.path().join("home")).unwrap();
        let repo = Repository::init_bare(dir.path().join("repo")).unwrap();
        let base = commit(&repo, "base\n", "old\n");
        let mut task = task(dir.path(), &base, &commit(&repo, "gold\n", "new\n"));
        task.spec.suites.official.into = "spec".into();
        let trees = Trees::open(&home, &task).unwrap();
        let scratch = dir.path().join("scratch");
        for stop in [
            trees.suite_hash(&task, Suite::Official).unwrap_err(),
            trees
                .suite_dir(&task, Suite::Official, &scratch)
                .unwrap_err(),
        ] {
            assert!(
                matches!(&stop, Stop::Input(m) if m.contains("\"spec\"")),
                "{stop:?}"
            );
        }
    }
}
