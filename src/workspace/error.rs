//! What can go wrong with our own machinery here. A submission's faults are [`super::Refused`].

use std::path::{Path, PathBuf};

use nix::libc;

#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    #[error("{path}: {source}", path = .path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("git objects of {place}: {source}", place = .place.display())]
    Git { place: PathBuf, source: git2::Error },
    #[error(
        "{path} is neither a file, a folder nor a symlink; remove it from the tree",
        path = .path.display()
    )]
    OddFile { path: PathBuf },
    #[error(
        "{repository} is no git repository on this machine; clone it and name the folder",
        repository = .repository.display()
    )]
    NoRepository { repository: PathBuf },
    #[error(transparent)]
    Absent(#[from] Absent),
    #[error("{commit} is no full commit id (40 hexadecimal digits)")]
    NotFull { commit: String },
    #[error("{path} is not in commit {commit} of {repository}", repository = .repository.display())]
    NotInCommit {
        repository: PathBuf,
        commit: String,
        path: String,
    },
    #[error("{path} is not empty", path = .path.display())]
    NotEmpty { path: PathBuf },
    #[error("{name} in a tree is refused: it would leave the folder or hide in it")]
    BadName { name: String },
    #[error(
        "the patch captured from {work} does not make its tree again: {why}; this is a fault of ours",
        work = .work.display()
    )]
    Unproven { work: PathBuf, why: String },
    #[error("{path} does not name a folder below the work tree")]
    BadFolder { path: String },
}

/// A repository, a commit or an object of it that is not on this machine. Nothing is fetched here:
/// these are the commands that bring it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}; this gets them:\n    {}", .commands.join("\n    "))]
pub struct Absent {
    /// Names the repository, what it lacks, all commits that are needed and where it looked.
    pub what: String,
    /// For a shell, in this order.
    pub commands: Vec<String>,
    /// The task names the repository by URL: that it is not here is no error of the task.
    pub elsewhere: bool,
}

impl WorkspaceError {
    /// What lies in the tree that was read is the reason, so that another try would find the same;
    /// else it may be the machine's trouble.
    pub fn is_the_trees(&self) -> bool {
        const MACHINES: [i32; 6] = [
            libc::EIO,
            libc::EMFILE,
            libc::ENFILE,
            libc::ENOMEM,
            libc::ENOSPC,
            libc::ESTALE,
        ];
        match self {
            Self::Io { source, .. } => {
                !(source.raw_os_error()).is_some_and(|code| MACHINES.contains(&code))
            }
            // a name that no tree can hold
            Self::Git { source, .. } => source.class() == git2::ErrorClass::Tree,
            Self::OddFile { .. } | Self::BadName { .. } => true,
            _ => false,
        }
    }

    pub(super) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { path, source }
    }

    pub(super) fn git(place: &Path) -> impl FnOnce(git2::Error) -> Self {
        let place = place.to_path_buf();
        move |source| Self::Git { place, source }
    }
}
