//! Applying a patch to base, by the rules of `git apply`, in memory.
//!
//! Our own reading of a patch ([`crate::diff::patch`]) and our own matching of hunks, as libgit2's
//! `apply` knows no offsets, no order of files and no plain `diff -u`. A file whose hunks do not
//! match is merged three-way where its `index` line names a known preimage. Either every file
//! applies and there is a new tree, or there is none. A patch is never applied in reverse.

mod files;
mod links;
mod merge;
mod paths;
mod text;

use std::fmt;

use git2::Oid;

use super::{Snapshot, WorkspaceError};
use crate::diff::patch::{self, Change};
use crate::domain::Cause;

/// Base with a patch applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Write it out with [`Snapshot::write_tree`] of the same snapshot.
    pub tree: Oid,
    /// The worst of the files' methods.
    pub method: Method,
    pub files: Vec<AppliedFile>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedFile {
    pub path: Vec<u8>,
    pub change: Change,
    pub added: usize,
    pub removed: usize,
    pub method: Method,
}

/// How the patch went in, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// Every hunk stood at its line.
    Exact,
    /// A hunk stood elsewhere in the file.
    Offset,
    /// Merged with the version that the patch was made against.
    ThreeWay,
}

impl Method {
    pub fn name(self) -> &'static str {
        match self {
            Method::Exact => "exact",
            Method::Offset => "offset",
            Method::ThreeWay => "three-way",
        }
    }
}

/// A patch that is not applied: score 0, in the denominator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// `Empty` or `Apply`.
    pub cause: Cause,
    /// Names the file, and the line of the patch where there is one.
    pub message: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refused {}

/// The submission's fault, or ours.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

impl Refused {
    fn empty(message: &str) -> ApplyError {
        ApplyError::Refused(Refused {
            cause: Cause::Empty,
            message: message.into(),
        })
    }

    fn apply(line: usize, message: impl fmt::Display) -> ApplyError {
        ApplyError::Refused(Refused {
            cause: Cause::Apply,
            message: format!("patch line {line}: {message}"),
        })
    }
}

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
