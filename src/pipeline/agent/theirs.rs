//! Files in folders that an agent writes, opened as what they may have become.

use std::fs::File;
use std::io;
use std::path::Path;

use nix::fcntl::{OFlag, OpenHow, ResolveFlag, open, openat2};
use nix::sys::stat::Mode;

/// A plain file below `root`; `None` where there is none. No link on the way is followed, and
/// nothing else than a plain file is read: a pipe would wait for a writer, a device has no end.
pub(super) fn open_theirs(root: &Path, relative: &Path) -> io::Result<Option<File>> {
    let folder = open(
        root,
        OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC,
        Mode::empty(),
    )?;
    let how = OpenHow::new()
        .flags(OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC)
        .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS);
    let Ok(file) = openat2(&folder, relative, how) else {
        return Ok(None);
    };
    let file = File::from(file);
    let plain = file.metadata()?.is_file();
    Ok(plain.then_some(file))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn links_and_pipes_are_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        std::fs::create_dir_all(root.join("folder")).unwrap();
        std::fs::create_dir_all(dir.path().join("outside")).unwrap();
        std::fs::write(root.join("folder/file"), "x").unwrap();
        std::fs::write(dir.path().join("outside/file"), "secret").unwrap();
        let there = |path: &str| open_theirs(&root, Path::new(path)).unwrap().is_some();
        assert!(there("folder/file"));
        assert!(!there("folder") && !there("folder/absent") && !there("../outside/file"));
        std::os::unix::fs::symlink(dir.path().join("outside"), root.join("link")).unwrap();
        std::os::unix::fs::symlink("folder/file", root.join("file")).unwrap();
        nix::unistd::mkfifo(&root.join("pipe"), Mode::S_IRWXU).unwrap();
        assert!(!there("link/file") && !there("file") && !there("pipe"));
    }
}
