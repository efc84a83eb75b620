//! Applying a patch to base, by the rules of `git apply`, in memory.
//!
//! Our own reading of a patch ([`crate::diff::patch`]) and our own matching of hunks, as libgit2's
//! `apply` knows no offsets, no order of files and no plain `diff -u`. A file whose hunks do not
//! match is merged three-way where its `index` line names a known preimage. Either every file
//! applies and there is a new tree, or there is none. A patch is never applied in reverse.

mod files;
mod links;
mod merge;
mod outcome;
mod paths;
mod text;
mod whole;

pub(super) use links::{Escape, escapes};
pub use outcome::{Applied, AppliedFile, ApplyError, Method, Refused};
pub(super) use paths::check_path;
pub use whole::{apply, apply_to};
