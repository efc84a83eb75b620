//! The capture as a whole: the walk, the patch, and the proof that the one is the other.

use std::collections::BTreeMap;
use std::path::Path;

use git2::Oid;

use super::super::difference::TreeDiff;
use super::super::repository::first_commit;
use super::super::tree::{Edit, EditError};
use super::super::{FileStat, Snapshot, WorkspaceError, apply};
use super::history;
use super::notes::Notes;
use super::outward::inside;
use super::tree::Walk;
use crate::diff::patch::show;
use crate::domain::CaptureNote;

/// What a work tree changed over base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// Empty where nothing changed. Applied to base by [`super::super::apply`] it gives `tree`,
    /// which has been tried.
    pub patch: Vec<u8>,
    /// Base with exactly the captured changes.
    pub tree: Oid,
    pub files: Vec<FileStat>,
    /// What is no part of the patch, or is told beside it; by kind, then by path.
    pub notes: Vec<CaptureNote>,
    /// Notes beyond those that are listed.
    pub more_notes: usize,
}

impl Snapshot {
    /// What `work` changed over the tree `base`, whatever git would make of it. Nothing may run in
    /// `work` meanwhile. A file or folder of ours that cannot be read is given the right first; what
    /// no patch can hold is left out and told, so that nothing an agent leaves is a fault.
    pub fn capture(&self, work: &Path, base: Oid) -> Result<Capture, WorkspaceError> {
        let git = || WorkspaceError::git(self.dir());
        let (mut edits, mut notes) = {
            let repo = self.repo();
            let odb = repo.odb().map_err(git())?;
            let root = repo.find_tree(base).map_err(git())?;
            let start = first_commit(&repo, base).map_err(git())?;
            let (edits, mut notes) = Walk::new(&repo, &odb, self.dir(), work).edits(&root)?;
            history::look(work, &start.to_string(), &mut notes);
            (edits, notes)
        };
        let mut made = self.made(base, &mut edits, &mut notes)?;
        if made.is_err() {
            let mut left_out = Vec::new();
            let mut holds = |edits: &Edits| {
                let made = self.made(base, &mut edits.clone(), &mut Notes::default());
                made.map(|made| made.is_ok())
            };
            let all = std::mem::take(&mut edits).into_iter().collect();
            provable(&mut edits, all, &mut holds, &mut left_out)?;
            for path in left_out {
                let detail = "left out: no patch that makes it could be found".into();
                notes.add(&path, "odd", detail);
            }
            made = self.made(base, &mut edits, &mut notes)?;
        }
        let (tree, diff) = made.map_err(|why| WorkspaceError::Unproven {
            work: work.to_path_buf(),
            why,
        })?;
        let (notes, more_notes) = notes.finish();
        Ok(Capture {
            patch: diff.patch,
            tree,
            files: diff.files,
            notes,
            more_notes,
        })
    }

    /// The tree of the edits, without those that lead outside, and the patch to it, which is tried.
    /// `Err` inside: they make no tree, or the patch makes another one.
    fn made(
        &self,
        base: Oid,
        edits: &mut Edits,
        notes: &mut Notes,
    ) -> Result<Result<(Oid, TreeDiff), String>, WorkspaceError> {
        let git = || WorkspaceError::git(self.dir());
        let tree = {
            let repo = self.repo();
            let root = repo.find_tree(base).map_err(git())?;
            match inside(&repo, &root, edits, notes) {
                Ok(tree) => tree,
                Err(EditError::Git(source)) => return Err(git()(source)),
                Err(EditError::Conflict { path, why }) => {
                    return Ok(Err(format!("{}: {why}", show(&path))));
                }
            }
        };
        let diff = self.diff_trees(base, tree)?;
        if diff.patch.is_empty() {
            let same = tree == base;
            return Ok(same.then_some((tree, diff)).ok_or("it is empty".into()));
        }
        Ok(match apply::apply_to(self, base, &diff.patch) {
            Ok(applied) if applied.tree == tree => Ok((tree, diff)),
            Ok(_) => Err("it makes another tree".into()),
            Err(apply::ApplyError::Refused(refused)) => Err(refused.message),
            Err(apply::ApplyError::Workspace(e)) => return Err(e),
        })
    }
}

type Edits = BTreeMap<Vec<u8>, Edit>;

/// Adds to `kept` as much of `rest` as holds together with it, found by halves; else to `left_out`.
fn provable<E>(
    kept: &mut Edits,
    mut rest: Vec<(Vec<u8>, Edit)>,
    holds: &mut impl FnMut(&Edits) -> Result<bool, E>,
    left_out: &mut Vec<Vec<u8>>,
) -> Result<(), E> {
    let mut all = kept.clone();
    all.extend(rest.iter().cloned());
    if holds(&all)? {
        *kept = all;
    } else if rest.len() > 1 {
        let second = rest.split_off(rest.len() / 2);
        provable(kept, rest, holds, left_out)?;
        provable(kept, second, holds, left_out)?;
    } else {
        left_out.extend(rest.into_iter().map(|(path, _)| path));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_is_kept_and_what_does_not_is_named() {
        let names: Vec<Vec<u8>> = (b'a'..=b'z').map(|name| vec![name]).collect();
        let all = names.iter().map(|name| (name.clone(), Edit::Remove));
        // one that never holds, and two that do not together
        let mut asked = 0;
        let mut holds = |edits: &Edits| {
            asked += 1;
            let has = |name: &[u8]| edits.contains_key(name);
            Ok::<bool, ()>(!(has(b"q") || has(b"c") && has(b"x")))
        };
        let (mut kept, mut left_out) = (Edits::new(), Vec::new());
        assert!(provable(&mut kept, all.collect(), &mut holds, &mut left_out).is_ok());
        assert_eq!(left_out, [b"q", b"x"]);
        assert_eq!(kept.len(), 24);
        assert!(asked < 26);
    }
}
