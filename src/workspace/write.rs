//! Writing a tree out as plain files.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use git2::{Odb, Oid, Repository};

use super::WorkspaceError;
use super::tree::{FOLDER, LINK, SUBMODULE};

/// `dest` must be new or empty. Every entry is created new (`O_EXCL`), so nothing in `dest` is
/// ever followed or overwritten.
pub(super) fn write_tree(repo: &Repository, tree: Oid, dest: &Path) -> Result<(), WorkspaceError> {
    fs::create_dir_all(dest).map_err(WorkspaceError::io(dest))?;
    let mut there = fs::read_dir(dest).map_err(WorkspaceError::io(dest))?;
    if there.next().is_some() {
        return Err(WorkspaceError::NotEmpty {
            path: dest.to_path_buf(),
        });
    }
    let odb = repo.odb().map_err(WorkspaceError::git(repo.path()))?;
    folder(repo, &odb, tree, dest)
}

fn folder(repo: &Repository, odb: &Odb<'_>, tree: Oid, dest: &Path) -> Result<(), WorkspaceError> {
    let tree = repo
        .find_tree(tree)
        .map_err(WorkspaceError::git(repo.path()))?;
    for entry in &tree {
        let name = entry.name_bytes();
        check_name(name)?;
        let path = dest.join(std::ffi::OsStr::from_bytes(name));
        let io = || WorkspaceError::io(&path);
        match entry.filemode() {
            FOLDER => {
                fs::create_dir(&path).map_err(io())?;
                folder(repo, odb, entry.id(), &path)?;
            }
            // an empty folder, as a clone without its submodules has it
            SUBMODULE => fs::create_dir(&path).map_err(io())?,
            mode => {
                let blob = odb
                    .read(entry.id())
                    .map_err(WorkspaceError::git(repo.path()))?;
                if mode == LINK {
                    let target = std::ffi::OsStr::from_bytes(blob.data());
                    std::os::unix::fs::symlink(target, &path).map_err(io())?;
                } else {
                    let mode = if mode & 0o111 == 0 { 0o644 } else { 0o755 };
                    let mut file = OpenOptions::new()
                        .write(true)
                        .create_new(true)
                        .mode(mode)
                        .open(&path)
                        .map_err(io())?;
                    file.write_all(blob.data()).map_err(io())?;
                }
            }
        }
    }
    Ok(())
}

/// A tree made elsewhere may hold names that no checkout should follow.
fn check_name(name: &[u8]) -> Result<(), WorkspaceError> {
    let bad = name.is_empty()
        || name == b"."
        || name == b".."
        || name.contains(&b'/')
        || name.eq_ignore_ascii_case(b".git");
    if bad {
        return Err(WorkspaceError::BadName {
            name: crate::diff::patch::show(name),
        });
    }
    Ok(())
}
