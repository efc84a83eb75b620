//! How much disk an agent or a suite takes: nothing in the sandbox bounds it, and a full disk is
//! everybody's. Who could fill it would end as a harness fault and escape its score; and what a
//! disk that others filled makes fail is no submission's doing.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::engine::deep::Walk;

/// Entries that are looked at; a tree of more is counted in part.
const MOST_ENTRIES: usize = 2_000_000;
/// Less than this is as good as full: the run's journal and the capture need some.
const RESERVE: u64 = 1 << 30;
/// Between two looks at the free space, which cost next to nothing.
const LOOK: Duration = Duration::from_millis(50);
/// Between two counts of what stands in the folders.
const COUNT: Duration = Duration::from_secs(3);
/// What had no name is free when the last process that held it is gone; the kernel may take a moment.
const SETTLE: Duration = Duration::from_secs(2);

/// The folders that an agent writes, and what it may take in them.
pub(super) struct Disk {
    roots: Vec<PathBuf>,
    limit: u64,
    /// Free bytes when it began.
    free: Option<u64>,
    reserve: u64,
    before: u64,
}

/// Why an agent has to be stopped.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// It took more than it may.
    Limit(String),
    /// Most of what there was is gone; who took it is [`Disk::blamed`]'s to say.
    Full,
}

/// Ends the threads that watch with itself.
pub(super) struct Guard(Arc<AtomicBool>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Disk {
    pub(super) fn watch(roots: Vec<PathBuf>, limit: u64) -> Self {
        let space = roots.first().and_then(|root| space(root));
        Self {
            before: roots.iter().map(|root| used(root, false, &never())).sum(),
            limit,
            free: space.map(|(free, _)| free),
            reserve: space.map_or(RESERVE, |(_, all)| RESERVE.min(all / 20)),
            roots,
        }
    }

    /// What a sandbox may write without a bound: only the free space is looked at.
    pub(super) fn unbounded(roots: Vec<PathBuf>) -> Self {
        Self::watch(roots, u64::MAX)
    }

    /// Too little free space to begin with, in words; what would run there would fail for it.
    pub(super) fn too_full(root: &Path) -> Option<String> {
        let (free, all) = space(root)?;
        let least = RESERVE.min(all / 20);
        (free < least).then(|| {
            format!(
                "{}: {} MiB are free, and {} MiB are wanted; `infradev gc` and `infradev env gc` make room",
                root.display(),
                free >> 20,
                least >> 20
            )
        })
    }

    /// Watches on threads of their own, so that no count of anything makes it blind.
    pub(super) fn guard(this: &Arc<Self>) -> (Guard, mpsc::Receiver<Over>) {
        let (say, over) = mpsc::channel(2);
        let stop = Arc::new(AtomicBool::new(false));
        let bounded = this.limit < u64::MAX;
        let threads: [fn(&Self, &AtomicBool) -> Option<Over>; 2] = [Self::fills, Self::grows];
        for watch in threads.into_iter().take(if bounded { 2 } else { 1 }) {
            let (disk, stop, say) = (Arc::clone(this), Arc::clone(&stop), say.clone());
            tokio::task::spawn_blocking(move || {
                if let Some(over) = watch(&disk, &stop) {
                    let _ = say.try_send(over);
                }
            });
        }
        (Guard(stop), over)
    }

    /// Looks at the free space until it is gone.
    fn fills(&self, stop: &AtomicBool) -> Option<Over> {
        while !stop.load(Ordering::Relaxed) {
            if self.full() {
                return Some(Over::Full);
            }
            sleep(LOOK);
        }
        None
    }

    /// Counts until it is over the limit.
    fn grows(&self, stop: &AtomicBool) -> Option<Over> {
        while !stop.load(Ordering::Relaxed) {
            let begun = Instant::now();
            let took = self.took(false, stop);
            if took > self.limit {
                return Some(Over::Limit(self.over(took)));
            }
            // at most a twentieth of a core
            let until = begun + (begun.elapsed() * 20).max(COUNT);
            while Instant::now() < until && !stop.load(Ordering::Relaxed) {
                sleep(LOOK);
            }
        }
        None
    }

    /// Most of what there was when it began is gone, and little is left.
    fn full(&self) -> bool {
        let now = self.roots.first().and_then(|root| space(root));
        let (Some(began), Some((now, _))) = (self.free, now) else {
            return false;
        };
        now < self.reserve && began.saturating_sub(now) > began / 2
    }

    fn took(&self, rights: bool, stop: &AtomicBool) -> u64 {
        let used = self.roots.iter().map(|root| used(root, rights, stop));
        used.sum::<u64>().saturating_sub(self.before)
    }

    fn over(&self, took: u64) -> String {
        format!("{} MiB of {} MiB", took >> 20, self.limit >> 20)
    }

    /// What an agent has done that was stopped because the disk was full, once nothing of it runs;
    /// else, what the matter is with a disk that others filled.
    pub(super) fn blamed(&self) -> Result<String, String> {
        let took = self.took(true, &never());
        let left = self.reserve >> 20;
        if took > self.limit {
            return Ok(self.over(took));
        }
        if self.free.is_some_and(|began| took > began / 2) {
            let took = took >> 20;
            return Ok(format!("{took} MiB, and less than {left} MiB were left"));
        }
        // what has no name in any folder goes with the processes that hold it
        let until = Instant::now() + SETTLE;
        while Instant::now() < until {
            if !self.full() {
                return Ok(format!(
                    "less than {left} MiB were left until its processes were ended"
                ));
            }
            sleep(LOOK);
        }
        Err(format!(
            "No space left on the disk of the run, of which what ran in it took {} MiB",
            took >> 20
        ))
    }
}

fn never() -> AtomicBool {
    AtomicBool::new(false)
}

/// Free bytes for us, and all bytes, of the file system.
fn space(path: &Path) -> Option<(u64, u64)> {
    let stat = nix::sys::statvfs::statvfs(path).ok()?;
    let unit = stat.fragment_size();
    Some((stat.blocks_available() * unit, stat.blocks() * unit))
}

/// Allocated bytes below `root`; links are not followed, and what cannot be read is nothing.
/// `rights`: what its owner may not read is given the right, which is for when nothing runs there.
fn used(root: &Path, rights: bool, stop: &AtomicBool) -> u64 {
    let (mut left, mut bytes) = (MOST_ENTRIES, 0);
    Walk::new(root, rights).all(&mut |_, metadata| {
        // of a file with many names, each is counted: a limit may be reached early
        bytes += metadata.blocks() * 512;
        left -= 1;
        Ok(left > 0 && !stop.load(Ordering::Relaxed))
    });
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
        assert_eq!(disk.took(false, &never()), 0);
        let mut deep = dir.path().to_path_buf();
        deep.extend(std::iter::repeat_n("d", 300));
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(deep.join("new"), vec![1; 3 << 20]).unwrap();
        let over = disk.grows(&never());
        assert!(matches!(over, Some(Over::Limit(_))), "{over:?}");
        assert!(disk.blamed().unwrap().ends_with("of 2 MiB"));
        // a hole is no byte
        let hole = std::fs::File::create(deep.join("new")).unwrap();
        hole.set_len(1 << 40).unwrap();
        assert!(disk.took(false, &never()) < 2 << 20);
    }
}
