//! A tree that an agent works in, and what is captured of it.

use std::path::PathBuf;

use infradev::domain::CaptureNote;
use infradev::workspace::{Capture, FileStat, Snapshot};

use crate::kit::{Files, files, git, git_apply, read, shown, snapshot, write};

/// A snapshot, and its agent's repository.
pub struct Bench {
    pub dir: tempfile::TempDir,
    pub base: Snapshot,
    pub old: Files,
    pub work: PathBuf,
}

impl Bench {
    pub fn new(old: &Files) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = snapshot(dir.path(), old);
        let work = dir.path().join("work");
        base.agent_repository(base.tree(), &work).unwrap();
        Self {
            dir,
            base,
            old: old.clone(),
            work,
        }
    }

    pub fn git(&self, args: &[&str]) {
        git(&self.work, args).unwrap();
    }

    pub fn put(&self, list: &[(&str, &str)]) {
        write(&self.work, &files(list));
    }

    /// Captured, and proved with git's own apply.
    pub fn capture(&self) -> Capture {
        let captured = self.base.capture(&self.work, self.base.tree()).unwrap();
        if captured.patch.is_empty() {
            assert_eq!(captured.tree, self.base.tree());
            assert!(captured.files.is_empty());
        } else {
            let out = self.tree(&captured);
            let git = git_apply(&self.old, &captured.patch);
            assert_eq!(git.as_ref(), Ok(&out), "{}", shown(&captured.patch));
        }
        captured
    }

    pub fn tree(&self, captured: &Capture) -> Files {
        let out = tempfile::tempdir_in(self.dir.path()).unwrap();
        self.base.write_tree(captured.tree, out.path()).unwrap();
        read(out.path())
    }

    /// `M a` for each file.
    pub fn brief(captured: &Capture) -> Vec<String> {
        let brief =
            |f: &FileStat| format!("{} {}", f.change.letter(), String::from_utf8_lossy(&f.path));
        captured.files.iter().map(brief).collect()
    }
}

pub fn note<'c>(captured: &'c Capture, path: &str) -> &'c CaptureNote {
    let found = captured.notes.iter().find(|n| n.path == path);
    found.unwrap_or_else(|| panic!("{path} in {:#?}", captured.notes))
}
