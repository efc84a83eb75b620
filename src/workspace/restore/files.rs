//! Which files are test configuration, and putting gold's version in their place.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::super::WorkspaceError;

/// Files that are test configuration as a whole, at any level.
pub(super) fn is_whole(name: &[u8]) -> bool {
    matches!(
        name,
        b"conftest.py"
            | b"pytest.ini"
            | b".pytest.ini"
            | b"pytest.toml"
            | b".pytest.toml"
            | b"sitecustomize.py"
            | b"usercustomize.py"
    ) || name.ends_with(b".pth")
}

/// Files of which some sections are.
pub(super) fn has_sections(name: &[u8]) -> bool {
    matches!(name, b"setup.cfg" | b"tox.ini" | b"pyproject.toml")
}

/// Folders in which `entry_points.txt` registers plugins.
pub(super) fn is_metadata(name: &[u8]) -> bool {
    name.ends_with(b".egg-info") || name.ends_with(b".dist-info") || name == b"EGG-INFO"
}

/// Removes whatever is there, never what a symlink points to.
pub(super) fn remove(path: &Path) -> Result<(), WorkspaceError> {
    let meta = fs::symlink_metadata(path).map_err(WorkspaceError::io(path))?;
    if meta.is_dir() {
        fs::remove_dir_all(path).map_err(WorkspaceError::io(path))
    } else {
        fs::remove_file(path).map_err(WorkspaceError::io(path))
    }
}

/// Writes a file anew, in folders that are made as needed. `false`: something that is no folder
/// stands on the way, so that nothing at this path is read anyway.
pub(super) fn write(
    work: &Path,
    relative: &Path,
    mode: u32,
    bytes: &[u8],
) -> Result<bool, WorkspaceError> {
    let mut folder = work.to_path_buf();
    for part in relative.parent().into_iter().flat_map(Path::components) {
        folder.push(part);
        match fs::symlink_metadata(&folder) {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => return Ok(false),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                fs::create_dir(&folder).map_err(WorkspaceError::io(&folder))?;
            }
            Err(e) => return Err(WorkspaceError::io(&folder)(e)),
        }
    }
    let path = work.join(relative);
    if fs::symlink_metadata(&path).is_ok() {
        remove(&path)?;
    }
    if mode == 0o120_000 {
        let target = std::ffi::OsStr::from_bytes(bytes);
        std::os::unix::fs::symlink(target, &path).map_err(WorkspaceError::io(&path))?;
        return Ok(true);
    }
    let mode = if mode & 0o111 == 0 { 0o644 } else { 0o755 };
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&path)
        .and_then(|mut file| file.write_all(bytes))
        .map_err(WorkspaceError::io(&path))?;
    Ok(true)
}
