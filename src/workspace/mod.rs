//! Work trees: the base snapshot, applying a patch to it, writing it out, putting the tests in.
//!
//! Base lives as git objects in a bare repository of the home ([`Snapshot`]). A patch is applied
//! in memory ([`apply`]): either there is a whole new tree, or nothing. All paths of a submission
//! are untrusted: nothing here follows a symlink of it or leaves the work tree.
//!
//! Everything blocks; callers in async code use `spawn_blocking`. No git binary is needed.

mod apply;
mod capture;
mod difference;
mod edit;
mod error;
mod hash;
mod import;
mod lock;
mod message;
mod origin;
mod pack;
mod repository;
mod restore;
mod snapshot;
mod sources;
mod suite;
mod tree;
mod versions;
mod walk;
mod write;

pub use apply::{Applied, AppliedFile, ApplyError, Method, Refused, apply, apply_to};
pub use capture::Capture;
pub use difference::{FileStat, TreeDiff};
pub use error::{Absent, WorkspaceError};
pub use git2::Oid as TreeId;
pub use hash::hash_tree;
pub use origin::{Mirrors, Origin};
pub use repository::GIT_ENVIRONMENT;
pub use restore::{Action, Restored, restore_configuration};
pub use snapshot::Snapshot;
pub use sources::{Sources, SourcesError};
pub use suite::{Replaced, remove_suite, replace_suite, rewritten};
pub use versions::Versions;
