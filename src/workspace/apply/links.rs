//! Symlinks of the resulting tree: none that the submission made, or whose way it changed, leads
//! out of the work tree.

use std::collections::BTreeMap;

use git2::{Oid, Repository, Tree};

use super::super::tree::{LINK, find, for_each};
use crate::diff::patch::show;

/// As many steps as Linux takes.
const MAX_STEPS: usize = 40;
/// Names on the way of a symlink; Linux takes more, nobody makes them, and a way of thousands costs
/// their square.
const MAX_NAMES: usize = 1000;
/// Bytes of a target that Linux takes.
const MAX_TARGET: usize = 4095;

/// A symlink that leads outside, or whose way no kernel would take.
pub(in super::super) struct Escape {
    pub(in super::super) path: Vec<u8>,
    pub(in super::super) why: String,
    /// The first place on its way, itself to begin with, that is not the same symlink in base, or
    /// is one in base alone.
    pub(in super::super) changed: Vec<u8>,
}

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

/// The symlinks of `new` that lead outside. One that base has with the same target and that leads
/// outside there already is base's affair.
pub(in super::super) fn escapes(
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
    for (path, &id) in &now {
        let mut changed = None;
        let Some(why) = escape(repo, new, path, id, &mut |place| {
            if changed.is_none() && now.get(place) != before.get(place) {
                changed = Some(place.to_vec());
            }
        })?
        else {
            continue;
        };
        let same = before.get(path) == Some(&id);
        if same && escape(repo, base, path, id, &mut |_| {})?.is_some() {
            continue;
        }
        found.push(Escape {
            path: path.clone(),
            why,
            changed: changed.unwrap_or_else(|| path.clone()),
        });
    }
    Ok(found)
}

/// Follows a symlink through the tree as the kernel would. A way that ends at nothing stays
/// inside: whatever is made there is inside. `look` is told of every place on the way.
fn escape(
    repo: &Repository,
    tree: &Tree<'_>,
    link: &[u8],
    id: Oid,
    look: &mut impl FnMut(&[u8]),
) -> Result<Option<String>, git2::Error> {
    let target = |id: Oid| repo.find_blob(id).map(|b| b.content().to_vec());
    look(link);
    // where we are, as names from the root; `todo` is what is still to walk, last first
    let mut here: Vec<Vec<u8>> = link.split(|&b| b == b'/').map(<[u8]>::to_vec).collect();
    here.pop();
    let mut todo: Vec<Vec<u8>> = Vec::new();
    let (mut steps, mut names) = (0, 0);
    let mut follow = target(id)?;
    loop {
        steps += 1;
        if follow.is_empty() || follow.len() > MAX_TARGET {
            return Ok(Some(format!("its target has {} bytes", follow.len())));
        }
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
            names += 1;
            if names > MAX_NAMES {
                return Ok(Some("its way is too long to follow".into()));
            }
            if name == b".." {
                if here.pop().is_none() {
                    return Ok(Some("it points outside of the work tree".into()));
                }
                continue;
            }
            here.push(name);
            // a folder, a file or nothing: a test may make folders there, so only names count
            let place = here.join(&b'/');
            let there = find(tree, &place, repo)?;
            look(&place);
            if let Some((LINK, id)) = there {
                here.pop();
                break target(id)?;
            }
        };
    }
}
