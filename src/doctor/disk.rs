//! Space at the home, and whether files can share it there.

use std::path::Path;
use std::process::{Command, Stdio};

use super::document::Check;
use super::examine::Examination;
use super::machine::gib;
use crate::environment::links_work;

/// Room for one environment with numerical libraries and some runs.
const WANTED: u64 = 4 << 30;
/// Not even that.
const NEEDED: u64 = 512 << 20;

/// A temporary folder on the home's file system; the home itself need not exist yet.
pub(super) fn scratch(home: &Path) -> std::io::Result<Scratch> {
    let absolute = std::path::absolute(home)?;
    let there = absolute
        .ancestors()
        // a file where a folder should be is found too: nothing can be made in it
        .find(|folder| folder.exists())
        .unwrap_or(Path::new("/"));
    let path = there.join(format!(".infradev-doctor-{}", std::process::id()));
    std::fs::create_dir(&path)?;
    Ok(Scratch { path })
}

/// Removed with everything in it when dropped.
pub(super) struct Scratch {
    path: std::path::PathBuf,
}

impl Scratch {
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

pub(super) fn checks(examination: &Examination<'_>) -> Vec<Check> {
    let home = &examination.home;
    let scratch = match scratch(home) {
        Ok(scratch) => scratch,
        Err(error) => {
            return vec![Check::fail(
                "disk",
                format!("{} cannot be written: {error}", home.display()),
                "make it writable, or name another home with --home or INFRADEV_HOME",
            )];
        }
    };
    vec![
        space(home, scratch.path()),
        hard_links(scratch.path()),
        reflinks(scratch.path()),
    ]
}

fn space(home: &Path, folder: &Path) -> Check {
    const NAME: &str = "disk";
    let free = match nix::sys::statvfs::statvfs(folder) {
        Ok(answer) => answer
            .blocks_available()
            .saturating_mul(answer.fragment_size()),
        Err(error) => {
            return Check::warn(NAME, format!("unknown: {error}"), "look at it with df");
        }
    };
    let found = format!("{} free at {}", gib(free), home.display());
    let mend = "make room, or name a home on a larger disk with --home or INFRADEV_HOME";
    if free < NEEDED {
        Check::fail(NAME, found, mend)
    } else if free < WANTED {
        Check::warn(NAME, found, mend)
    } else {
        Check::ok(NAME, found)
    }
}

fn hard_links(folder: &Path) -> Check {
    const NAME: &str = "hard links";
    if links_work(folder, folder) {
        Check::ok(NAME, "work: packages are kept once for all environments")
    } else {
        Check::warn(
            NAME,
            "refused by this file system: every environment keeps its own copy of each package",
            "put the home on a local file system (ext4, xfs, btrfs) if disk space matters",
        )
    }
}

fn reflinks(folder: &Path) -> Check {
    const NAME: &str = "reflinks";
    let source = folder.join("reflink-from");
    let made = std::fs::write(&source, vec![1; 64 * 1024]).is_ok()
        && Command::new("cp")
            .arg("--reflink=always")
            .arg(&source)
            .arg(folder.join("reflink-to"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
    // most file systems have none, and nothing depends on them
    Check::ok(
        NAME,
        if made {
            "work: work trees can share their blocks"
        } else {
            "none on this file system: work trees are copied or overlaid"
        },
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_home_that_is_a_file_cannot_be_written_and_one_that_is_not_there_can() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "").unwrap();
        for home in ["file", "file/below"] {
            assert!(scratch(&dir.path().join(home)).is_err(), "{home}");
        }
        let made = scratch(&dir.path().join("not/yet")).unwrap();
        assert_eq!(made.path().parent(), Some(dir.path()));
    }
}
