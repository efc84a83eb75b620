//! Symlinks of the resulting tree: none that the submission made, or whose way it changed, leads
//! out of the work tree.

use std::collections::BTreeMap;

use git2::{Oid, Repository, Tree};

use super::super::tree::{LINK, find, for_each};
use crate::diff::patch::show;

/// As many steps as Linux takes.
const MAX_STEPS: usize = 40;

/// A symlink that leads outside, and why.
pub(in super::super) type Escape = (Vec<u8>, String);

/// Every symlink of a tree with its blob.
fn links(repo: &Repository, tree: &Tree<'_>) -> Result<BTreeMap<Vec<u8>, Oid>, git2::Error> {
    let mut found = BTreeMap::new();
    for_each(repo, tree, &mut Vec::new(), &mut |path, mode, id| {
        if mode == LINK {
            found.insert(path.to_vec(), id);
        }
        Ok::<(), git2::Error>(())
    })?;
    Ok(found)
}

/// The symlinks of `new` that lead outside, with why. One that base has with the same target and
/// that leads outside there already is base's affair.
pub(super) fn escapes(
    repo: &Repository,
    base: &Tree<'_>,
    new: &Tree<'_>,
) -> Result<Vec<Escape>, git2::Error> {
    let now = links(repo, new)?;
    let mut found = Vec::new();
    if now.is_empty() {
        return Ok(found);
    }
    let before = links(repo, base)?;
    for (path, id) in now {
        let Some(why) = escape(repo, new, &path, id)? else {
            continue;
        };
        if before.get(&path) == Some(&id) && escape(repo, base, &path, id)?.is_some() {
            continue;
        }
        found.push((path, why));
    }
    Ok(found)
}

/// Follows a symlink through the tree as the kernel would. A way that ends at nothing stays
/// inside: whatever is made there is inside.
fn escape(
    repo: &Repository,
    tree: &Tree<'_>,
    link: &[u8],
    id: Oid,
) -> Result<Option<String>, git2::Error> {
    let target = |id: Oid| repo.find_blob(id).map(|b| b.content().to_vec());
    // where we are, as names from the root; `todo` is what is still to walk, last first
    let mut here: Vec<Vec<u8>> = link.split(|&b| b == b'/').map(<[u8]>::to_vec).collect();
    here.pop();
    let mut todo: Vec<Vec<u8>> = Vec::new();
    let mut steps = 0;
    let mut follow = target(id)?;
    loop {
        steps += 1;
        if follow.first() == Some(&b'/') {
            return Ok(Some(format!(
                "it points to the absolute path {}",
                show(&follow)
            )));
        }
        if follow.contains(&0) {
            return Ok(Some("its target holds a NUL byte".into()));
        }
        if steps > MAX_STEPS {
            // a loop: the kernel refuses it too
            return Ok(None);
        }
        todo.extend(
            follow
                .split(|&b| b == b'/')
                .rev()
                .filter(|n| !n.is_empty() && n != b".")
                .map(<[u8]>::to_vec),
        );
        follow = loop {
            let Some(name) = todo.pop() else {
                return Ok(None);
            };
            if name == b".." {
                if here.pop().is_none() {
                    return Ok(Some("it points outside of the work tree".into()));
                }
                continue;
            }
            here.push(name);
            // a folder, a file or nothing: a test may make folders there, so only names count
            if let Some((LINK, id)) = find(tree, &here.join(&b'/'), repo)? {
                here.pop();
                break target(id)?;
            }
        };
    }
}
