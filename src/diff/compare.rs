//! Two trees side by side: gold and a submission, over base where it is known.

use std::collections::BTreeSet;

use super::lines::{DiffOptions, FileDiff};
use super::patch::Change;

/// Reads a file of a tree; `None`: it is not there.
pub type ReadFile<'a> = Box<dyn Fn(&[u8]) -> Option<Vec<u8>> + 'a>;

/// A tree as paths and a way to read them; whoever has the trees makes one. For large trees it
/// is enough to list the paths that a patch names.
pub struct FileSet<'a> {
    pub paths: Vec<Vec<u8>>,
    pub read: ReadFile<'a>,
}

/// Who changed a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touched {
    GoldOnly,
    SubmissionOnly,
    Both,
}

/// One file of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    pub path: Vec<u8>,
    /// From gold to the submission: added, deleted or modified there; `None`: the same.
    pub change: Option<Change>,
    pub touched: Touched,
    /// Lines from gold to the submission.
    pub added: usize,
    pub removed: usize,
    /// Counts are unknown: binary, or too large.
    pub opaque: bool,
}

/// The files that gold or the submission changes, by path. Without `base`, the files in which
/// the two differ: which of them changed a file is then told only by which of them has it.
pub fn compare(
    base: Option<&FileSet<'_>>,
    gold: &FileSet<'_>,
    submission: &FileSet<'_>,
    options: DiffOptions,
) -> Vec<Compared> {
    let paths: BTreeSet<&Vec<u8>> = base
        .iter()
        .flat_map(|b| &b.paths)
        .chain(&gold.paths)
        .chain(&submission.paths)
        .collect();
    let mut files = Vec::new();
    for path in paths {
        let (old, new) = ((gold.read)(path), (submission.read)(path));
        let touched = match base {
            Some(base) => {
                let before = (base.read)(path);
                match (old != before, new != before) {
                    (true, true) => Touched::Both,
                    (true, false) => Touched::GoldOnly,
                    (false, true) => Touched::SubmissionOnly,
                    (false, false) => continue,
                }
            }
            None if old == new => continue,
            None => match (&old, &new) {
                (Some(_), None) => Touched::GoldOnly,
                (None, Some(_)) => Touched::SubmissionOnly,
                _ => Touched::Both,
            },
        };
        let change = match (&old, &new) {
            (None, Some(_)) => Some(Change::Add),
            (Some(_), None) => Some(Change::Delete),
            _ if old == new => None,
            _ => Some(Change::Modify),
        };
        let mut entry = Compared {
            path: path.clone(),
            change,
            touched,
            added: 0,
            removed: 0,
            opaque: false,
        };
        if change.is_some() {
            let diff = FileDiff::new(old.as_deref(), new.as_deref(), options);
            entry.added = diff.added;
            entry.removed = diff.removed;
            entry.opaque = diff.notices.iter().any(super::Notice::hides_rows);
        }
        files.push(entry);
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(files: &'static [(&'static str, &'static str)]) -> FileSet<'static> {
        FileSet {
            paths: files.iter().map(|f| f.0.as_bytes().to_vec()).collect(),
            read: Box::new(move |path| {
                files
                    .iter()
                    .find(|f| f.0.as_bytes() == path)
                    .map(|f| f.1.as_bytes().to_vec())
            }),
        }
    }

    #[test]
    fn who_touched_what() {
        let base = set(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n"), ("d", "1\n")]);
        let gold = set(&[
            ("a", "2\n"),
            ("b", "1\n"),
            ("c", "2\n"),
            ("d", "1\n"),
            ("g", "x\n"),
        ]);
        let other = set(&[("a", "1\n"), ("c", "2\n"), ("d", "1\n"), ("s", "\0")]);
        let found = compare(Some(&base), &gold, &other, DiffOptions::default());
        let brief: Vec<_> = found
            .iter()
            .map(|f| {
                let path = String::from_utf8_lossy(&f.path).into_owned();
                (
                    path,
                    f.change.map(Change::letter),
                    f.touched,
                    f.added,
                    f.removed,
                    f.opaque,
                )
            })
            .collect();
        let row = |path: &str, letter, touched, added, removed, opaque| {
            (path.to_owned(), letter, touched, added, removed, opaque)
        };
        assert_eq!(
            brief,
            [
                row("a", Some('M'), Touched::GoldOnly, 1, 1, false),
                row("b", Some('D'), Touched::SubmissionOnly, 0, 1, false),
                row("c", None, Touched::Both, 0, 0, false),
                row("g", Some('D'), Touched::GoldOnly, 0, 1, false),
                row("s", Some('A'), Touched::SubmissionOnly, 0, 0, true),
            ]
        );
        let without = compare(None, &gold, &other, DiffOptions::default());
        assert_eq!(without.len(), 4, "the same on both sides is not listed");
    }
}
