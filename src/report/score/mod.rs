//! From run folders to what [`crate::judge::score`] counts: which folders are meant, what made
//! each run, whether it counts, and what its task is.

mod find;
mod made_by;
mod read;
mod tasks;

pub use find::{FindError, find_runs};
pub use read::{Read, read_runs};
