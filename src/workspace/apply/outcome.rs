//! What comes of a patch: a tree, or a refusal.

use std::fmt;

use git2::Oid;

use super::super::WorkspaceError;
use crate::diff::patch::Change;
use crate::domain::Cause;

/// Base with a patch applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Write it out with [`super::super::Snapshot::write_tree`] of the same snapshot.
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
    pub(super) fn empty(message: &str) -> ApplyError {
        ApplyError::Refused(Refused {
            cause: Cause::Empty,
            message: message.into(),
        })
    }

    pub(super) fn apply(line: usize, message: impl fmt::Display) -> ApplyError {
        ApplyError::Refused(Refused {
            cause: Cause::Apply,
            message: format!("patch line {line}: {message}"),
        })
    }
}
