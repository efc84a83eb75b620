//! The patch parser: `git diff` in all its forms, and plain `diff -u`.
//!
//! [`parse`] never fails. What it cannot understand is a [`Problem`] with its line; whoever
//! applies a patch refuses it when there is one, whoever shows it shows the rest.

mod base85;
mod binary;
mod header;
mod hunks;
mod name;
mod parse;
mod types;

pub use binary::BinaryError;
pub use name::{quote, show};
pub use parse::parse;
pub use types::{
    BinaryHunk, BinaryKind, BinaryPatch, Body, Change, FilePatch, Hunk, HunkLine, LineKind, Patch,
    Problem,
};
