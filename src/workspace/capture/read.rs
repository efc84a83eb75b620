//! Reading what an agent left: plain files only, bounded, without following a symlink.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use nix::libc;

use super::super::WorkspaceError;
use super::super::walk::{Kind, list};

/// Opens a plain file; a pipe that took its place does not block.
fn open(path: &Path) -> std::io::Result<(File, Metadata)> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)?;
    let meta = file.metadata()?;
    if meta.is_file() {
        Ok((file, meta))
    } else {
        Err(std::io::Error::other("is no plain file"))
    }
}

/// The first bytes of a plain file; `None` where it cannot be read.
pub(super) fn head(path: &Path, bytes: usize) -> Option<Vec<u8>> {
    let (file, _) = readable(path, open).ok()?;
    let mut head = Vec::with_capacity(bytes);
    file.take(bytes as u64).read_to_end(&mut head).ok()?;
    Some(head)
}

/// A whole file; `None` where it has grown over `most` bytes.
pub(super) fn whole(path: &Path, most: u64) -> Result<Option<Vec<u8>>, WorkspaceError> {
    let io = || WorkspaceError::io(path);
    let (file, meta) = readable(path, open).map_err(io())?;
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len().min(most)).unwrap_or_default());
    file.take(most + 1).read_to_end(&mut bytes).map_err(io())?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

/// The entries of a folder. One that can be listed and not entered would fail at what is in it, so
/// the rights come first.
pub(super) fn entries(dir: &Path) -> Result<Vec<(OsString, Option<Kind>)>, WorkspaceError> {
    allow(dir, 0o700);
    list(dir)
}

/// Again with the right to read, where a file of ours was left without.
fn readable<T>(path: &Path, read: impl Fn(&Path) -> std::io::Result<T>) -> std::io::Result<T> {
    match read(path) {
        Err(e) if e.kind() == ErrorKind::PermissionDenied => {
            allow(path, 0o400);
            read(path)
        }
        found => found,
    }
}

/// Adds to the mode of what is no symlink; what fails shows when it is read.
fn allow(path: &Path, bits: u32) {
    if let Ok(meta) = fs::symlink_metadata(path)
        && !meta.is_symlink()
    {
        let mode = meta.permissions().mode() & 0o7777;
        if mode & bits != bits {
            fs::set_permissions(path, Permissions::from_mode(mode | bits)).ok();
        }
    }
}
