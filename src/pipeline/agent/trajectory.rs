//! A log that an agent keeps in a file and rewrites as it goes: copied into the run as it changes.
//! The file lies in a folder that the agent writes, so it is opened as what it may have become.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use super::theirs::open_theirs;
use crate::agent::adapter::Redactor;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(500);

/// Follows one file.
pub(super) struct Trajectory {
    folder: PathBuf,
    /// In that folder.
    name: PathBuf,
    to: PathBuf,
    bound: u64,
    seen: Option<(u64, i64, i64, u64)>,
    /// Bytes of the last copy.
    pub bytes: u64,
    /// Bytes over the bound.
    pub dropped: u64,
}

impl Trajectory {
    pub(super) fn new(folder: PathBuf, name: PathBuf, to: PathBuf, bound: u64) -> Self {
        Self {
            folder,
            name,
            to,
            bound,
            seen: None,
            bytes: 0,
            dropped: 0,
        }
    }

    /// Copies the file where it changed since the last look, whole or not at all; one that is not
    /// there yet is nothing. `clean`: what is written of what was read.
    pub(super) fn follow(&mut self, clean: impl Fn(Vec<u8>) -> Vec<u8>) -> io::Result<bool> {
        let Some(mut file) = open_theirs(&self.folder, &self.name)? else {
            return Ok(false);
        };
        let metadata = file.metadata()?;
        let mark = (
            metadata.ino(),
            metadata.mtime(),
            metadata.mtime_nsec(),
            metadata.size(),
        );
        if self.seen == Some(mark) {
            return Ok(false);
        }
        let mut bytes = Vec::new();
        (&mut file).take(self.bound).read_to_end(&mut bytes)?;
        self.bytes = bytes.len() as u64;
        self.dropped = metadata.size().saturating_sub(self.bytes);
        let part = self.to.with_extension("log.part");
        let mut out = File::create(&part)?;
        out.write_all(&clean(bytes))?;
        drop(out);
        std::fs::rename(&part, &self.to)?;
        self.seen = Some(mark);
        Ok(true)
    }
}

/// Follows a trajectory on a thread of its own, so that copying a large one keeps nobody from
/// hearing the agent or from ending it.
pub(super) struct Follower {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<io::Result<Trajectory>>,
}

impl Follower {
    pub(super) fn start(mut trajectory: Trajectory, secrets: Redactor) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = tokio::task::spawn_blocking(move || {
            loop {
                // whoever asks to stop has seen the agent end: one more look has it all
                let last = stopped.load(Ordering::Acquire);
                let begun = Instant::now();
                let followed = trajectory.follow(|bytes| {
                    let mut clean = secrets.clone();
                    let mut kept = clean.push(&bytes);
                    kept.extend(clean.finish());
                    kept
                });
                match followed {
                    // there may be some when the agent is stopped, and only the last copy counts
                    Err(e) if !last && e.kind() == io::ErrorKind::StorageFull => {}
                    followed => drop(followed?),
                }
                if last {
                    return Ok(trajectory);
                }
                // a large document takes its time to copy
                let until = begun + (begun.elapsed() * 20).max(LOOK);
                while Instant::now() < until && !stopped.load(Ordering::Acquire) {
                    std::thread::sleep(Duration::from_millis(50));
                }
            }
        });
        Self { stop, thread }
    }

    /// It could not go on: what [`finish`](Self::finish) tells.
    pub(super) fn failed(&self) -> bool {
        self.thread.is_finished()
    }

    /// The trajectory as it is now that nobody writes it any more.
    pub(super) async fn finish(mut self) -> io::Result<Trajectory> {
        self.stop.store(true, Ordering::Release);
        (&mut self.thread).await.map_err(io::Error::other)?
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_rewritten_file_is_copied_and_a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("t.json"), dir.path().join("agent.log"));
        let mut trajectory = Trajectory::new(dir.path().into(), "t.json".into(), to.clone(), 10);
        let keep = |bytes: Vec<u8>| bytes;
        assert!(!trajectory.follow(keep).unwrap());
        std::fs::write(&from, "{\"a\":1}").unwrap();
        assert!(trajectory.follow(keep).unwrap());
        assert!(!trajectory.follow(keep).unwrap());
        std::fs::write(&from, "{\"a\":1,\"b\":2}").unwrap();
        assert!(trajectory.follow(|b| b.to_ascii_uppercase()).unwrap());
        assert_eq!(std::fs::read_to_string(&to).unwrap(), "{\"A\":1,\"B\"");
        assert_eq!((trajectory.bytes, trajectory.dropped), (10, 3));
        let secret = dir.path().join("secret");
        std::fs::write(&secret, "s").unwrap();
        std::fs::remove_file(&from).unwrap();
        std::os::unix::fs::symlink(&secret, &from).unwrap();
        assert!(!trajectory.follow(keep).unwrap());
    }
}
