//! Work trees lent to the sandbox's user while a sandbox lives, and given back.
//!
//! A root worker runs sandboxes under an unprivileged user, which must own what it may write.
//! Links are never followed, and nothing runs in the sandbox while a tree is walked. A file that
//! comes back has no set-user-id or set-group-id bit, so that a submission cannot leave a program
//! behind that lends the worker's rights to whoever starts it; that holds for any worker.

use std::fs::{Metadata, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};

use nix::unistd::{getegid, geteuid};

use super::EngineError;
use super::deep::Walk;
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

/// Everything that can be given is, whatever stands beside it; the first failure is told.
fn give(root: &Path, uid: u32, gid: u32) -> Result<(), (PathBuf, std::io::Error)> {
    let metadata = (root.symlink_metadata()).map_err(|e| (root.to_owned(), e))?;
    let mut walk = Walk::new(root, true);
    if let Err(e) = hand_over(root, &metadata, uid, gid) {
        walk.failed = Some((root.to_owned(), e));
    }
    if metadata.is_dir() {
        walk.all(&mut |path, metadata| hand_over(path, metadata, uid, gid).map(|()| true));
    }
    walk.failed.map_or(Ok(()), Err)
}

fn hand_over(path: &Path, metadata: &Metadata, uid: u32, gid: u32) -> std::io::Result<()> {
    if (metadata.uid(), metadata.gid()) != (uid, gid) {
        lchown(path, Some(uid), Some(gid))?;
    }
    // after the change of owner, which clears most of them itself
    if metadata.is_file() && metadata.mode() & 0o6000 != 0 {
        std::fs::set_permissions(path, Permissions::from_mode(metadata.mode() & 0o1777))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_cannot_be_given_keeps_nothing_else_from_it() {
        if !drops_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let step = "import os\nfor _ in range(60):\n    os.mkdir('n' * 250)\n    os.chdir('n' * 250)\n\
                    open('file', 'w').close()";
        let made = std::process::Command::new("python3")
            .args(["-c", step])
            .current_dir(dir.path())
            .status();
        assert!(made.unwrap().success());
        // nobody can own what is on a file system that can be read only
        let fixed = dir.path().join("fixed");
        std::fs::create_dir(&fixed).unwrap();
        let none = None::<&str>;
        let flags = nix::mount::MsFlags::MS_RDONLY;
        let mounted = nix::mount::mount(none, &fixed, Some("tmpfs"), flags, none).is_ok();
        let names = ["a", "z"].map(|name| dir.path().join(name));
        for name in &names {
            std::fs::write(name, "").unwrap();
        }
        let owned = |by: u32| {
            let mut others = Vec::new();
            Walk::new(dir.path(), false).all(&mut |path, metadata| {
                if metadata.uid() != by {
                    others.push(path.file_name().unwrap().to_owned());
                }
                Ok(true)
            });
            others
        };
        let given = give(dir.path(), OUTER_ID, OUTER_ID);
        let left = owned(OUTER_ID);
        let back = give(dir.path(), geteuid().as_raw(), getegid().as_raw());
        if mounted {
            nix::mount::umount(&fixed).unwrap();
            assert_eq!(given.unwrap_err().0, fixed);
            assert_eq!(left, ["fixed"]);
        }
        // it never was another's
        assert!(back.is_ok(), "{back:?}");
        assert!(owned(geteuid().as_raw()).is_empty());
    }
}
