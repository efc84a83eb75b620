//! The patch as a whole: is it one, does it change anything.

use git2::Oid;

use super::super::Snapshot;
use super::{Applied, ApplyError, Refused, files};
use crate::diff::patch;

/// Applies `patch` to the snapshot's base.
pub fn apply(snapshot: &Snapshot, patch: &[u8]) -> Result<Applied, ApplyError> {
    apply_to(snapshot, snapshot.tree(), patch)
}

/// Applies `patch` to any tree of the snapshot (symbol edits and hollow apply to gold).
pub fn apply_to(snapshot: &Snapshot, base: Oid, patch: &[u8]) -> Result<Applied, ApplyError> {
    if patch.is_empty() {
        return Err(Refused::empty("the patch is empty (0 bytes)"));
    }
    if patch.iter().all(u8::is_ascii_whitespace) {
        return Err(Refused::empty("the patch holds white space only"));
    }
    let parsed = patch::parse(patch);
    if let Some(problem) = parsed.problems.first() {
        return Err(Refused::apply(problem.line, &problem.message));
    }
    if parsed.files.is_empty() {
        return Err(Refused::apply(
            1,
            "this is no patch: no `diff --git` and no `---`/`+++` header in it",
        ));
    }
    let applied = files::apply_files(snapshot, base, patch, &parsed)?;
    if applied.tree == base {
        return Err(Refused::empty("the patch changes nothing"));
    }
    Ok(applied)
}
