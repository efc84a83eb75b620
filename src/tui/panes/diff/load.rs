//! What differs between two solutions, asked of the backend on a worker thread.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::diff::align::{SourceFile, Touched, align, renames};
use crate::diff::{DiffOptions, FileDiff};
use crate::domain::Source;
use crate::python::units::source_file;
use crate::tui::backend::{Answer, Backend, ChangeKind, FileChange};
use crate::tui::state::Comparison;

use super::entries::{By, Entry, Listed, Trees};

/// More files that came and went than these are not searched for renames.
const RENAMES: usize = 200;
/// Nor files larger than this together, in bytes.
const RENAMED_BYTES: usize = 8 << 20;

/// The list of a comparison.
pub fn list(backend: &dyn Backend, comparison: &Comparison) -> Answer<Listed> {
    match comparison.by {
        By::Path => by_path(backend, comparison),
        By::Symbol => by_symbol(backend, comparison),
    }
}

/// The paths that a solution changes.
fn changed(
    backend: &dyn Backend,
    comparison: &Comparison,
    source: &Source,
) -> Answer<BTreeSet<String>> {
    if *source == Source::Base {
        return Ok(BTreeSet::new());
    }
    let files = backend.changes(&comparison.task, &Source::Base, source)?;
    Ok(files.into_iter().map(|file| file.path).collect())
}

/// The paths that the two solutions change whose touch is marked; `None`: there are no two, or
/// one of them cannot be had.
fn marks(backend: &dyn Backend, comparison: &Comparison) -> Option<[BTreeSet<String>; 2]> {
    let [left, right] = comparison.marked()?;
    let ask = |source| changed(backend, comparison, source).ok();
    Some([ask(left)?, ask(right)?])
}

fn by_path(backend: &dyn Backend, comparison: &Comparison) -> Answer<Listed> {
    let files = backend.changes(&comparison.task, &comparison.left, &comparison.right)?;
    let files = with_renames(backend, comparison, files);
    let mut entries: Vec<Entry> = files.into_iter().map(Entry::from).collect();
    if let Some([left, right]) = marks(backend, comparison) {
        for entry in &mut entries {
            let any = |set: &BTreeSet<String>| {
                set.contains(&entry.path)
                    || entry.old_path.as_ref().is_some_and(|old| set.contains(old))
            };
            entry.touched = Touched::of(any(&left), any(&right));
        }
        // what both changed in the same way is told too
        if comparison.left != Source::Base {
            let listed: BTreeSet<&str> = entries
                .iter()
                .flat_map(|entry| [Some(entry.path.as_str()), entry.old_path.as_deref()])
                .flatten()
                .collect();
            let same: Vec<Entry> = left
                .intersection(&right)
                .filter(|path| !listed.contains(path.as_str()))
                .map(|path| same(path))
                .collect();
            entries.extend(same);
        }
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Listed {
        entries,
        trees: Arc::default(),
    })
}

fn same(path: &str) -> Entry {
    Entry {
        path: path.to_owned(),
        old_path: None,
        kind: ChangeKind::Same,
        added: 0,
        deleted: 0,
        binary: false,
        modes: None,
        touched: Some(Touched::Both),
        part: None,
    }
}

/// Joins a file that went and one like it that came.
fn with_renames(
    backend: &dyn Backend,
    comparison: &Comparison,
    mut files: Vec<FileChange>,
) -> Vec<FileChange> {
    let read = |kind: ChangeKind, source: &Source| -> Option<Vec<SourceFile>> {
        let paths: Vec<String> = files
            .iter()
            .filter(|f| f.kind == kind && !f.binary)
            .map(|f| f.path.clone())
            .collect();
        if paths.is_empty() || paths.len() > RENAMES {
            return None;
        }
        let texts = backend.files(&comparison.task, source, &paths).ok()?;
        let bytes: usize = texts.iter().flatten().map(Vec::len).sum();
        let pairs = paths.into_iter().zip(texts);
        let whole = pairs.filter_map(|(p, text)| Some(SourceFile::whole(p, Arc::new(text?))));
        (bytes <= RENAMED_BYTES).then(|| whole.collect())
    };
    let (Some(removed), Some(added)) = (
        read(ChangeKind::Deleted, &comparison.left),
        read(ChangeKind::Added, &comparison.right),
    ) else {
        return files;
    };
    for (old, new) in renames(&removed, &added) {
        let (old, new) = (&removed[old], &added[new]);
        let diff = FileDiff::new(Some(&old.text), Some(&new.text), DiffOptions::default());
        files.retain(|f| f.path != old.path || f.kind != ChangeKind::Deleted);
        if let Some(file) = files.iter_mut().find(|f| f.path == new.path) {
            file.kind = ChangeKind::Renamed;
            file.old_path = Some(old.path.clone());
            (file.added, file.deleted) = (diff.added, diff.removed);
        }
    }
    files
}

fn by_symbol(backend: &dyn Backend, comparison: &Comparison) -> Answer<Listed> {
    let mut paths = changed(backend, comparison, &comparison.left)?;
    paths.extend(changed(backend, comparison, &comparison.right)?);
    let paths: Vec<String> = paths.into_iter().collect();
    let read = |source: &Source| -> Answer<Vec<SourceFile>> {
        let texts = backend.files(&comparison.task, source, &paths)?;
        let there = paths.iter().zip(texts);
        let cut = there.filter_map(|(path, text)| Some(source_file(path, Arc::new(text?))));
        Ok(cut.collect())
    };
    let base = read(&Source::Base)?;
    let side = |source: &Source| match source {
        Source::Base => Ok(base.clone()),
        other => read(other),
    };
    let trees = Trees {
        sides: [side(&comparison.left)?, side(&comparison.right)?],
    };
    let [left, right] = &trees.sides;
    let pairs = align(&base, left, right).into_iter();
    let mut entries: Vec<Entry> = pairs.filter_map(|p| Entry::of_part(&trees, p)).collect();
    if comparison.left == Source::Base {
        // only one of the two can touch anything here
        for entry in &mut entries {
            entry.touched = None;
        }
    }
    Ok(Listed {
        entries,
        trees: Arc::new(trees),
    })
}
