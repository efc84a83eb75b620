//! Work trees lent to the sandbox's user while a sandbox lives, and given back.
//!
//! A root worker runs sandboxes under an unprivileged user, which must own what it may write.
//! Links are never followed, and nothing runs in the sandbox while a tree is walked. A file that
//! comes back has no set-user-id or set-group-id bit, so that a submission cannot leave a program
//! behind that lends the worker's rights to whoever starts it; that holds for any worker.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};

use nix::unistd::{getegid, geteuid};

use super::EngineError;
use super::local::OUTER_ID;

/// Whether a sandbox of this process runs as another user: it is root, and of more than itself (a
/// root whose user namespace knows no other user is an ordinary one outside).
pub(super) fn drops_root() -> bool {
    let knows = |map: &str| {
        std::fs::read_to_string(map).is_ok_and(|text| {
            text.lines().any(|line| {
                let mut numbers = line.split_ascii_whitespace().map(str::parse::<u64>);
                let (Some(Ok(first)), Some(Ok(_)), Some(Ok(count))) =
                    (numbers.next(), numbers.next(), numbers.next())
                else {
                    return false;
                };
                (first..first.saturating_add(count)).contains(&u64::from(OUTER_ID))
            })
        })
    };
    geteuid().is_root() && knows("/proc/self/uid_map") && knows("/proc/self/gid_map")
}

/// Trees that are given back to the worker's user when this is dropped.
#[derive(Debug)]
pub(super) struct Lent {
    trees: Vec<PathBuf>,
}

impl Lent {
    /// `away`: to the unprivileged user, where this process is one that [`drops_root`]; else the
    /// trees stay ours and are only tidied when they come back.
    pub(super) fn new(trees: &[PathBuf], away: bool) -> Result<Self, EngineError> {
        // the tree itself, where a caller names it by a link; one that is missing is reported when
        // it is to be mounted
        let trees = trees.iter().filter_map(|t| t.canonicalize().ok()).collect();
        // made first, so that what was lent before a failure is given back
        let lent = Self { trees };
        if !away || !drops_root() {
            return Ok(lent);
        }
        for tree in &lent.trees {
            give(tree, OUTER_ID, OUTER_ID).map_err(|(path, source)| EngineError::Io {
                doing: "lending to the sandbox's user",
                path,
                source,
            })?;
        }
        Ok(lent)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        for tree in &self.trees {
            if let Err((path, error)) = give(tree, geteuid().as_raw(), getegid().as_raw()) {
                tracing::warn!(path = %path.display(), %error, "a work tree was not given back");
            }
        }
    }
}

fn give(root: &Path, uid: u32, gid: u32) -> Result<(), (PathBuf, std::io::Error)> {
    let mut pending = vec![root.to_owned()];
    while let Some(path) = pending.pop() {
        let failed = |source| (path.clone(), source);
        let metadata = match path.symlink_metadata() {
            Ok(metadata) => metadata,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && path != root => continue,
            Err(e) => return Err(failed(e)),
        };
        if metadata.is_dir() {
            for entry in path.read_dir().map_err(failed)? {
                pending.push(entry.map_err(failed)?.path());
            }
        }
        if (metadata.uid(), metadata.gid()) != (uid, gid) {
            lchown(&path, Some(uid), Some(gid)).map_err(failed)?;
        }
        // after the change of owner, which clears most of them itself
        if metadata.is_file() && metadata.mode() & 0o6000 != 0 {
            let plain = Permissions::from_mode(metadata.mode() & 0o1777);
            std::fs::set_permissions(&path, plain).map_err(failed)?;
        }
    }
    Ok(())
}
