//! Symlinks that lead out of the work tree: no tree that is graded may hold one, so they stay out of
//! the patch.

use std::collections::{BTreeMap, BTreeSet};

use git2::{Oid, Repository, Tree};

use super::super::apply::{Escape, escapes};
use super::super::tree::{Edit, EditError, edit_tree, find};
use super::notes::Notes;
use crate::diff::patch::show;

/// The tree of the edits, from which those are taken that lead a symlink outside or have no place
/// beside what stays of base.
///
/// A way back to base's version can lead another of base's symlinks outside, so it is looked again
/// until none does: at most as often as base has symlinks on all ways together, as whatever an agent
/// made is dropped at once with all that goes through it.
pub(super) fn inside(
    repo: &Repository,
    base: &Tree<'_>,
    edits: &mut BTreeMap<Vec<u8>, Edit>,
    notes: &mut Notes,
) -> Result<Oid, EditError> {
    loop {
        let id = match edit_tree(repo, Some(base), edits) {
            // what base has there stays: a submodule, whose files are no business of a patch
            Err(EditError::Conflict { path, why })
                if matches!(edits.get(&path), Some(Edit::Put { .. })) =>
            {
                notes.add(&path, "odd", format!("left out: {why}"));
                edits.remove(&path);
                continue;
            }
            made => made?,
        };
        let tree = repo.find_tree(id)?;
        let found = escapes(repo, base, &tree)?;
        if found.is_empty() {
            return Ok(id);
        }
        let mut told = BTreeSet::new();
        let before = edits.len();
        for escape in found {
            if told.insert(escape.changed.clone()) {
                let detail = words(repo, base, &tree, &escape)?;
                notes.add(&escape.changed, "outward-link", detail);
                keep_base(edits, &escape.changed);
            }
        }
        if edits.len() == before {
            let path = told.pop_first().unwrap_or_default();
            let why = "a symlink leads outside that nobody changed".into();
            return Err(EditError::Conflict { path, why });
        }
    }
}

fn words(
    repo: &Repository,
    base: &Tree<'_>,
    tree: &Tree<'_>,
    escape: &Escape,
) -> Result<String, EditError> {
    let Escape { path, why, changed } = escape;
    let stays = match find(base, changed, repo)? {
        Some(_) => "; base's version stays",
        None => "",
    };
    if changed != path {
        let link = show(path);
        return Ok(format!(
            "left out: with it, of the symlink {link}, {why}{stays}"
        ));
    }
    let target = match find(tree, path, repo)? {
        Some((_, id)) => repo.find_blob(id)?.content().to_vec(),
        None => Vec::new(),
    };
    let to = show(&target);
    Ok(if target.starts_with(b"/") {
        format!("left out: a symlink to the absolute path {to}{stays}")
    } else {
        format!("left out: a symlink to {to}: {why}{stays}")
    })
}

/// Takes back what changes a path, what is below it, and what takes the place of its folders.
fn keep_base(edits: &mut BTreeMap<Vec<u8>, Edit>, path: &[u8]) {
    let mut root = path;
    for (at, _) in path.iter().enumerate().filter(|(_, b)| **b == b'/') {
        if matches!(edits.get(&path[..at]), Some(Edit::Put { .. })) {
            root = &path[..at];
            break;
        }
    }
    edits.remove(root);
    let below = [root, b"/"].concat();
    let inside = edits.range(below.clone()..).map(|(path, _)| path);
    let inside: Vec<_> = inside
        .take_while(|path| path.starts_with(&below))
        .cloned()
        .collect();
    for path in inside {
        edits.remove(&path);
    }
}
