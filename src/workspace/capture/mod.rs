//! The capture: what an agent changed over base, made from the trees alone.
//!
//! No git command runs in the agent's folder and its `.git` is not opened as a repository: whether
//! work is untracked, staged, committed or on another branch makes no difference. Left out are, by
//! rule and listed, what base's own `.gitignore` files ignore ([`ignore`]) and caches and build
//! products ([`rules`]); never a file that base has. Symlinks that lead out of the tree are left out
//! too ([`outward`]). What stands in `.git` is read as a few plain
//! files, for notes ([`history`]).

mod history;
mod ignore;
mod leftout;
mod notes;
mod outward;
mod read;
mod rules;
mod run;
mod tree;
mod wildmatch;

pub use run::Capture;
