//! What an agent has changed so far, from its tree: the stream may tell otherwise, or nothing.

use std::collections::HashMap;
use std::fs::Metadata;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use git2::Oid;

use super::theirs::open_theirs;
use crate::diff::{DiffOptions, FileDiff};
use crate::workspace::Snapshot;

/// Files whose lines are counted; beyond, files alone are.
const MOST_FILES: usize = 500;
/// Larger ones count as files without lines.
const LONGEST: u64 = 2 << 20;
/// Entries of a tree that are looked at.
const MOST_ENTRIES: usize = 200_000;

/// Files, and lines of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub files: usize,
    pub added: usize,
    pub deleted: usize,
}

/// What a file is known by between two looks.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Mark {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl Mark {
    fn of(metadata: &Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            size: metadata.size(),
            changed: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// A work tree as it was laid out.
pub(super) struct Changes {
    root: PathBuf,
    marks: HashMap<PathBuf, Mark>,
    counted: HashMap<PathBuf, (Mark, usize, usize)>,
}

impl Changes {
    /// `root`: just written, and nothing works in it yet.
    pub(super) fn since(root: &Path) -> Self {
        Self {
            root: root.to_path_buf(),
            marks: look(root),
            counted: HashMap::new(),
        }
    }

    /// Looks again. Files that come and go meanwhile are missed until the next look.
    pub(super) fn count(&mut self, snapshot: &Snapshot, base: Oid) -> Counts {
        let now = look(&self.root);
        let mut counts = Counts::default();
        let differs = |(path, mark): &(&PathBuf, &Mark)| self.marks.get(*path) != Some(*mark);
        let changed: Vec<(PathBuf, Option<Mark>)> = (now.iter())
            .filter(differs)
            .map(|(path, mark)| (path.clone(), Some(*mark)))
            .chain(
                (self.marks.keys())
                    .filter(|p| !now.contains_key(*p))
                    .map(|p| (p.clone(), None)),
            )
            .collect();
        for (n, (path, mark)) in changed.into_iter().enumerate() {
            let (mut added, mut deleted) = (0, 0);
            if n < MOST_FILES {
                match (mark, self.counted.get(&path)) {
                    (Some(mark), Some((known, a, d))) if *known == mark => {
                        (added, deleted) = (*a, *d);
                    }
                    _ => {
                        let Some((a, d)) = lines(snapshot, base, &self.root, &path, mark) else {
                            continue; // as it was, only touched
                        };
                        (added, deleted) = (a, d);
                        if let Some(mark) = mark {
                            self.counted.insert(path, (mark, a, d));
                        }
                    }
                }
            }
            counts.files += 1;
            counts.added += added;
            counts.deleted += deleted;
        }
        counts
    }
}

/// Added and deleted lines of one file; `None`: it is what base has.
fn lines(
    snapshot: &Snapshot,
    base: Oid,
    root: &Path,
    path: &Path,
    mark: Option<Mark>,
) -> Option<(usize, usize)> {
    use std::os::unix::ffi::OsStrExt;
    let old = snapshot.file(base, path.as_os_str().as_bytes()).ok()?;
    let new = match mark {
        Some(mark) if mark.size > LONGEST => return Some((0, 0)),
        Some(_) => {
            // a link counts as a file, and is not followed
            let Some(file) = open_theirs(root, path).ok()? else {
                return Some((0, 0));
            };
            let mut bytes = Vec::new();
            file.take(LONGEST).read_to_end(&mut bytes).ok()?;
            Some(bytes)
        }
        None => None,
    };
    if old == new {
        return None;
    }
    let diff = FileDiff::new(old.as_deref(), new.as_deref(), DiffOptions::default());
    Some((diff.added, diff.removed))
}

fn look(root: &Path) -> HashMap<PathBuf, Mark> {
    let mut found = HashMap::new();
    let mut pending = vec![PathBuf::new()];
    let mut seen = 0;
    while let Some(folder) = pending.pop() {
        let Ok(entries) = std::fs::read_dir(root.join(&folder)) else {
            continue;
        };
        for entry in entries.flatten() {
            seen += 1;
            if seen > MOST_ENTRIES {
                return found;
            }
            let name = entry.file_name();
            if name == ".git" || name == "__pycache__" || name == ".pytest_cache" {
                continue;
            }
            let path = folder.join(&name);
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if metadata.is_dir() {
                pending.push(path);
            } else {
                found.insert(path, Mark::of(&metadata));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn changes_are_counted_from_the_tree() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().join("base");
        std::fs::create_dir_all(base.join("pkg")).unwrap();
        std::fs::write(base.join("pkg/a.py"), "1\n2\n3\n").unwrap();
        std::fs::write(base.join("gone.py"), "x\n").unwrap();
        std::fs::write(base.join("touched.py"), "y\n").unwrap();
        let snapshot = Snapshot::from_dir(&base, &dir.path().join("store")).unwrap();
        let work = dir.path().join("work");
        snapshot.write_tree(snapshot.tree(), &work).unwrap();
        let mut changes = Changes::since(&work);
        let count = |changes: &mut Changes| changes.count(&snapshot, snapshot.tree());
        assert_eq!(count(&mut changes), Counts::default());
        std::fs::write(work.join("pkg/a.py"), "1\n2b\n3\n4\n").unwrap();
        std::fs::remove_file(work.join("gone.py")).unwrap();
        std::fs::write(work.join("touched.py"), "y\n").unwrap();
        std::fs::write(work.join("new.txt"), "a\nb\n").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", work.join("link")).unwrap();
        std::fs::create_dir(work.join(".git")).unwrap();
        std::fs::write(work.join(".git/config"), "noise\n").unwrap();
        let counts = count(&mut changes);
        assert_eq!((counts.added, counts.deleted), (4, 2));
        // the link counts as a file and is not followed
        assert_eq!(counts.files, 4);
        assert_eq!(count(&mut changes), counts);
    }
}
