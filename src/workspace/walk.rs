//! Walking a folder in the order of names, without following symlinks.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::WorkspaceError;

/// What a tree holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File { executable: bool },
    Link,
    Folder,
}

impl Kind {
    /// git's mode.
    pub(super) fn mode(self) -> i32 {
        match self {
            Kind::File { executable: false } => 0o100_644,
            Kind::File { executable: true } => 0o100_755,
            Kind::Link => 0o120_000,
            Kind::Folder => 0o040_000,
        }
    }
}

pub(super) struct Found {
    /// Relative to the walked folder.
    pub(super) relative: PathBuf,
    pub(super) kind: Kind,
}

/// Names that no snapshot takes: repositories inside, and bytecode, which a mere look at base
/// with an interpreter leaves behind.
pub(super) fn is_left_out(name: &OsStr) -> bool {
    name.as_bytes().eq_ignore_ascii_case(b".git") || name == "__pycache__"
}

/// Everything below `root`, folders before what is in them.
pub(super) fn walk(root: &Path) -> Result<Vec<Found>, WorkspaceError> {
    let mut found = Vec::new();
    into(root, Path::new(""), &mut found)?;
    Ok(found)
}

fn into(root: &Path, below: &Path, found: &mut Vec<Found>) -> Result<(), WorkspaceError> {
    for (name, kind) in list(&root.join(below))? {
        if is_left_out(&name) {
            continue;
        }
        let relative = below.join(&name);
        let Some(kind) = kind else {
            return Err(WorkspaceError::OddFile {
                path: root.join(relative),
            });
        };
        found.push(Found {
            relative: relative.clone(),
            kind,
        });
        if kind == Kind::Folder {
            into(root, &relative, found)?;
        }
    }
    Ok(())
}

/// One folder, by name. `None`: a device, a socket or a pipe.
pub(super) fn list(
    folder: &Path,
) -> Result<Vec<(std::ffi::OsString, Option<Kind>)>, WorkspaceError> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(WorkspaceError::io(folder))? {
        let entry = entry.map_err(WorkspaceError::io(folder))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(WorkspaceError::io(&path))?;
        let kind = if kind.is_dir() {
            Some(Kind::Folder)
        } else if kind.is_symlink() {
            Some(Kind::Link)
        } else if kind.is_file() {
            let meta = entry.metadata().map_err(WorkspaceError::io(&path))?;
            Some(Kind::File {
                executable: meta.permissions().mode() & 0o100 != 0,
            })
        } else {
            None
        };
        entries.push((entry.file_name(), kind));
    }
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(entries)
}

/// The bytes of a file, or the target of a symlink.
pub(super) fn content(path: &Path, kind: Kind) -> Result<Vec<u8>, WorkspaceError> {
    if kind == Kind::Link {
        let target = fs::read_link(path).map_err(WorkspaceError::io(path))?;
        return Ok(target.as_os_str().as_bytes().to_vec());
    }
    fs::read(path).map_err(WorkspaceError::io(path))
}
