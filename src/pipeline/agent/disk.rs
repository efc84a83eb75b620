//! How much disk an agent takes: nothing in the sandbox bounds it, and a full disk is everybody's.
//! An agent that could fill it would end as a harness fault and escape its score.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Folders below one another that are followed.
const DEEPEST: usize = 200;
/// Entries that are looked at; a tree of more is counted in part.
const MOST_ENTRIES: usize = 2_000_000;
/// Less than this is as good as full: the run's journal and the capture need some.
const RESERVE: u64 = 1 << 30;

/// The folders that an agent writes, and what it may take in them.
pub(super) struct Disk {
    roots: Vec<PathBuf>,
    limit: u64,
    /// Free bytes when it began.
    free: Option<u64>,
    reserve: u64,
    before: u64,
}

impl Disk {
    pub(super) fn watch(roots: Vec<PathBuf>, limit: u64) -> Self {
        let space = roots.first().and_then(|root| space(root));
        Self {
            before: roots.iter().map(|root| used(root)).sum(),
            limit,
            free: space.map(|(free, _)| free),
            reserve: space.map_or(RESERVE, |(_, all)| RESERVE.min(all / 20)),
            roots,
        }
    }

    /// Cheap: whether a look is due at once.
    pub(super) fn low(&self) -> bool {
        let free = self.roots.first().and_then(|root| space(root));
        free.is_some_and(|(free, _)| free < self.reserve)
    }

    /// What to say of an agent that has to be stopped: it took more than it may, or most of what
    /// there was. A disk that others filled is not its doing.
    pub(super) fn over(&self) -> Option<String> {
        let took =
            (self.roots.iter().map(|root| used(root)).sum::<u64>()).saturating_sub(self.before);
        let mib = |bytes: u64| bytes >> 20;
        if took > self.limit {
            return Some(format!("{} MiB of {} MiB", mib(took), mib(self.limit)));
        }
        let most = self.free.is_some_and(|free| took > free / 2);
        (most && self.low()).then(|| {
            format!(
                "{} MiB, and less than {} MiB are left",
                mib(took),
                mib(self.reserve)
            )
        })
    }
}

/// Free bytes for us, and all bytes, of the file system.
fn space(path: &Path) -> Option<(u64, u64)> {
    let stat = nix::sys::statvfs::statvfs(path).ok()?;
    let unit = stat.fragment_size();
    Some((stat.blocks_available() * unit, stat.blocks() * unit))
}

/// Allocated bytes below `root`; links are not followed, and what cannot be read is nothing.
fn used(root: &Path) -> u64 {
    let mut left = MOST_ENTRIES;
    let mut folders = vec![(root.to_path_buf(), 0)];
    let mut bytes = 0;
    while let Some((folder, depth)) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if left == 0 {
                return bytes;
            }
            left -= 1;
            // of a file with many names, each is counted: a limit may be reached early
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            bytes += metadata.blocks() * 512;
            if metadata.is_dir() && depth < DEEPEST {
                folders.push((entry.path(), depth + 1));
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_written_counts_and_what_was_there_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("big"), vec![1; 4 << 20]).unwrap();
        std::fs::write(dir.path().join("base"), vec![1; 3 << 20]).unwrap();
        std::os::unix::fs::symlink(outside.path(), dir.path().join("link")).unwrap();
        let disk = Disk::watch(vec![dir.path().into()], 2 << 20);
        assert_eq!(disk.over(), None);
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        std::fs::write(dir.path().join("sub/new"), vec![1; 3 << 20]).unwrap();
        assert_eq!(disk.over().unwrap(), "3 MiB of 2 MiB");
        // a hole is no byte
        let hole = std::fs::File::create(dir.path().join("sub/new")).unwrap();
        hole.set_len(1 << 40).unwrap();
        assert_eq!(disk.over(), None);
    }
}
