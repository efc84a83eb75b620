//! Walking a tree by descriptors: a path is bounded by the kernel, and a tree that was made step by
//! step is not. One descriptor is open at a time, and no symlink is followed.

use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::libc;

/// A walk below a folder.
pub(crate) struct Walk<'a> {
    root: &'a Path,
    /// Folders of ours that cannot be listed or entered are given the rights to.
    pub rights: bool,
    /// The first thing that failed; the walk goes on with the rest.
    pub failed: Option<(PathBuf, io::Error)>,
}

/// A folder on the way from the root to where the walk is.
struct Level {
    name: OsString,
    mark: (u64, u64),
    /// Folders in it that are still to be entered.
    below: Vec<OsString>,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(root: &'a Path, rights: bool) -> Self {
        Self {
            root,
            rights,
            failed: None,
        }
    }

    /// Calls `each` with everything below the root, folders before what is in them, until it answers
    /// that it has enough. The path that it is given is short, and good until it returns.
    pub(crate) fn all(&mut self, each: &mut impl FnMut(&Path, &Metadata) -> io::Result<bool>) {
        let mut levels = Vec::new();
        let Some(mut here) = self.enter(self.root, OsString::new(), &mut levels, each) else {
            return;
        };
        while let Some(level) = levels.last_mut() {
            if let Some(name) = level.below.pop() {
                let path = of(&here).join(&name);
                if let Some(next) = self.enter(&path, name, &mut levels, each) {
                    here = next;
                }
                continue;
            }
            levels.pop();
            let Some(above) = levels.last() else { return };
            // somebody may move a folder while we are in it
            match open(&of(&here).join("..")) {
                Ok(up) if mark(&up).is_ok_and(|mark| mark == above.mark) => here = up,
                Ok(_) => return,
                Err(e) => return self.fail(&levels, None, e),
            }
        }
    }

    fn enter(
        &mut self,
        path: &Path,
        name: OsString,
        levels: &mut Vec<Level>,
        each: &mut impl FnMut(&Path, &Metadata) -> io::Result<bool>,
    ) -> Option<File> {
        if self.rights {
            allow(path);
        }
        let opened = open(path).and_then(|folder| Ok((mark(&folder)?, folder)));
        let (mark, folder) = match opened {
            Ok(opened) => opened,
            Err(e) => {
                self.fail(levels, Some(name), e);
                return None;
            }
        };
        let below = Vec::new();
        levels.push(Level { name, mark, below });
        let found = match of(&folder).read_dir() {
            Ok(found) => found,
            Err(e) => {
                self.fail(levels, None, e);
                return Some(folder);
            }
        };
        for entry in found.flatten() {
            let seen = entry.metadata().and_then(|metadata| {
                let more = each(&entry.path(), &metadata)?;
                Ok((metadata.is_dir(), more))
            });
            match seen {
                Ok((_, false)) => {
                    levels.clear();
                    return None;
                }
                Ok((true, _)) => levels.last_mut()?.below.push(entry.file_name()),
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => self.fail(levels, Some(entry.file_name()), e),
            }
        }
        Some(folder)
    }

    fn fail(&mut self, levels: &[Level], name: Option<OsString>, error: io::Error) {
        if self.failed.is_none() {
            let mut path = self.root.to_path_buf();
            path.extend(levels.iter().skip(1).map(|level| &level.name));
            path.extend(name.filter(|name| !name.is_empty()));
            self.failed = Some((path, error));
        }
    }
}

/// An open folder by a path that is never too long.
fn of(folder: &File) -> PathBuf {
    format!("/proc/self/fd/{}", folder.as_raw_fd()).into()
}

fn open(path: &Path) -> io::Result<File> {
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

fn mark(folder: &File) -> io::Result<(u64, u64)> {
    folder.metadata().map(|m| (m.dev(), m.ino()))
}

/// What fails shows when the folder is opened.
fn allow(folder: &Path) {
    if let Ok(metadata) = folder.symlink_metadata()
        && metadata.is_dir()
        && metadata.mode() & 0o700 != 0o700
    {
        let more = Permissions::from_mode(metadata.mode() & 0o7777 | 0o700);
        std::fs::set_permissions(folder, more).ok();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Files below it, and what failed first.
    fn files(root: &Path) -> (usize, Option<PathBuf>) {
        let mut count = 0;
        let mut walk = Walk::new(root, true);
        walk.all(&mut |path, metadata| {
            // the short path leads there
            assert_eq!(path.symlink_metadata()?.ino(), metadata.ino());
            count += usize::from(metadata.is_file());
            Ok(true)
        });
        (count, walk.failed.map(|(path, _)| path))
    }

    #[test]
    fn a_tree_deeper_than_any_path_and_without_rights_is_walked_whole() {
        let dir = tempfile::tempdir().unwrap();
        let name = "n".repeat(250);
        let script = "import os, sys\nfor n in range(60):\n\
                      \x20   open('file', 'w').close()\n    os.mkdir(sys.argv[1])\n\
                      \x20   os.chdir(sys.argv[1])\n    os.chmod('..', 0 if n % 2 else 0o777)";
        let made = std::process::Command::new("python3")
            .args(["-c", script, &name])
            .current_dir(dir.path())
            .status();
        assert!(made.unwrap().success());
        std::fs::create_dir(dir.path().join("beside")).unwrap();
        std::fs::write(dir.path().join("beside/file"), "").unwrap();
        std::os::unix::fs::symlink("/", dir.path().join("link")).unwrap();
        assert_eq!(files(dir.path()), (61, None));
        assert_eq!(
            files(&dir.path().join("absent")),
            (0, Some(dir.path().join("absent")))
        );
        let mut seen = 0;
        Walk::new(dir.path(), true).all(&mut |_, _| {
            seen += 1;
            Ok(seen < 5)
        });
        assert_eq!(seen, 5);
    }
}
