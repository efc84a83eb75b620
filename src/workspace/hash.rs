//! The content hash of a folder: paths, modes and bytes.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::WorkspaceError;
use super::walk::{Kind, content, walk};
use crate::domain::hex;

/// SHA-256 over the paths, modes and bytes of `dir`, in hexadecimal: equal exactly where the
/// trees are equal. `.git` and `__pycache__` do not count, times and empty folders neither.
pub fn hash_tree(dir: &Path) -> Result<String, WorkspaceError> {
    let mut all = Sha256::new();
    for found in walk(dir)? {
        if found.kind == Kind::Folder {
            continue;
        }
        let bytes = content(&dir.join(&found.relative), found.kind)?;
        let path = found.relative.as_os_str().as_bytes();
        // lengths before bytes: no two trees spell the same stream
        all.update((path.len() as u64).to_le_bytes());
        all.update(path);
        all.update(found.kind.mode().to_le_bytes());
        all.update((bytes.len() as u64).to_le_bytes());
        all.update(&bytes);
    }
    Ok(hex(&all.finalize()))
}
