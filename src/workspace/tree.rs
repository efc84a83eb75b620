//! Editing git trees: many paths at once, folders made and dropped as needed.

use std::collections::BTreeMap;

use git2::{ObjectType, Oid, Repository, Tree};

use crate::diff::patch::show;

pub(super) const FOLDER: i32 = 0o040_000;
pub(super) const LINK: i32 = 0o120_000;
pub(super) const SUBMODULE: i32 = 0o160_000;

/// What a path becomes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Edit {
    Remove,
    Put { mode: i32, id: Oid },
}

#[derive(Debug)]
pub(super) enum EditError {
    /// Two paths cannot be in one tree, or a name cannot.
    Conflict {
        path: Vec<u8>,
        why: String,
    },
    Git(git2::Error),
}

impl From<git2::Error> for EditError {
    fn from(source: git2::Error) -> Self {
        EditError::Git(source)
    }
}

#[derive(Default)]
struct Node {
    edit: Option<Edit>,
    below: BTreeMap<Vec<u8>, Node>,
}

/// The tree `base` with the edits made; nothing else of it is read. Removing what is not there is
/// no error; a folder whose last file goes, goes.
pub(super) fn edit_tree(
    repo: &Repository,
    base: Option<&Tree<'_>>,
    edits: &BTreeMap<Vec<u8>, Edit>,
) -> Result<Oid, EditError> {
    let mut root = Node::default();
    for (path, edit) in edits {
        let mut node = &mut root;
        for name in path.split(|&b| b == b'/') {
            node = node.below.entry(name.to_vec()).or_default();
        }
        node.edit = Some(*edit);
    }
    match build(repo, base, &root, &mut Vec::new())? {
        Some(id) => Ok(id),
        None => Ok(repo.treebuilder(None)?.write()?),
    }
}

fn build(
    repo: &Repository,
    base: Option<&Tree<'_>>,
    node: &Node,
    path: &mut Vec<u8>,
) -> Result<Option<Oid>, EditError> {
    let mut builder = repo.treebuilder(base)?;
    for (name, child) in &node.below {
        let length = path.len();
        if length > 0 {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        let there = builder
            .get(name.as_slice())?
            .map(|e| (e.id(), e.filemode(), e.kind()));
        let entry = one(repo, there, child, path)?;
        match entry {
            Some((mode, id)) => {
                builder
                    .insert(name.as_slice(), id, mode)
                    .map_err(|e| EditError::Conflict {
                        path: path.clone(),
                        why: e.message().to_owned(),
                    })?;
            }
            None if there.is_some() => builder.remove(name.as_slice())?,
            None => {}
        }
        path.truncate(length);
    }
    if builder.is_empty() {
        return Ok(None);
    }
    Ok(Some(builder.write()?))
}

/// What one name becomes: what its own edit and those below it make of what is there.
fn one(
    repo: &Repository,
    there: Option<(Oid, i32, Option<ObjectType>)>,
    child: &Node,
    path: &mut Vec<u8>,
) -> Result<Option<(i32, Oid)>, EditError> {
    let conflict = |path: &[u8], why: String| EditError::Conflict {
        path: path.to_vec(),
        why,
    };
    let is_folder = matches!(there, Some((_, _, Some(ObjectType::Tree))));
    if child.below.is_empty() {
        return match child.edit {
            Some(Edit::Remove) if is_folder => Err(conflict(path, "it is a folder".into())),
            Some(Edit::Remove) => Ok(None),
            Some(Edit::Put { .. }) if is_folder => {
                Err(conflict(path, "a folder of that name is there".into()))
            }
            Some(Edit::Put { mode, id }) => Ok(Some((mode, id))),
            None => Ok(there.map(|(id, mode, _)| (mode, id))),
        };
    }
    let folder = match there {
        Some((id, _, Some(ObjectType::Tree))) => Some(repo.find_tree(id)?),
        _ => None,
    };
    let inside = build(repo, folder.as_ref(), child, path)?;
    match (inside, child.edit) {
        (Some(_), Some(Edit::Put { .. })) => {
            Err(conflict(path, "it would be a file and a folder".into()))
        }
        (Some(id), edit) => {
            if let Some((_, mode, _)) = there
                && !is_folder
                && edit.is_none()
            {
                let what = if mode == LINK { "symlink" } else { "file" };
                return Err(conflict(
                    path,
                    format!("a path goes through the {what} {}", show(path)),
                ));
            }
            Ok(Some((FOLDER, id)))
        }
        (None, Some(Edit::Put { mode, id })) => Ok(Some((mode, id))),
        // only removals below: a file of that name stays what it is
        (None, None) if !is_folder => Ok(there.map(|(id, mode, _)| (mode, id))),
        (None, _) => Ok(None),
    }
}

/// The entry of a path: mode and id.
pub(super) fn find(
    tree: &Tree<'_>,
    path: &[u8],
    repo: &Repository,
) -> Result<Option<(i32, Oid)>, git2::Error> {
    let mut names = path.split(|&b| b == b'/').peekable();
    let mut current: Option<Tree<'_>> = None;
    while let Some(name) = names.next() {
        let tree = current.as_ref().unwrap_or(tree);
        let Some(entry) = find_name(tree, name) else {
            return Ok(None);
        };
        if names.peek().is_none() {
            return Ok(Some(entry));
        }
        if entry.0 != FOLDER {
            return Ok(None);
        }
        current = Some(repo.find_tree(entry.1)?);
    }
    Ok(None)
}

pub(super) fn find_name(tree: &Tree<'_>, name: &[u8]) -> Option<(i32, Oid)> {
    tree.get_name_bytes(name).map(|e| (e.filemode(), e.id()))
}

/// Calls `each` with the path, mode and id of every file, symlink and submodule, folders in order.
pub(super) fn for_each<E: From<git2::Error>>(
    repo: &Repository,
    tree: &Tree<'_>,
    path: &mut Vec<u8>,
    each: &mut impl FnMut(&[u8], i32, Oid) -> Result<(), E>,
) -> Result<(), E> {
    for entry in tree {
        let length = path.len();
        if length > 0 {
            path.push(b'/');
        }
        path.extend_from_slice(entry.name_bytes());
        if entry.filemode() == FOLDER {
            for_each(repo, &repo.find_tree(entry.id())?, path, each)?;
        } else {
            each(path, entry.filemode(), entry.id())?;
        }
        path.truncate(length);
    }
    Ok(())
}
