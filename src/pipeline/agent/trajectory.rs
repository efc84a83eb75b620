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

/// Read at a time: the agent may write a gigabyte of nothing, and that is all that memory holds.
const PIECE: usize = 256 << 10;
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
    /// there yet is nothing. `secrets`: what is taken out of it.
    pub(super) fn follow(&mut self, secrets: &Redactor) -> io::Result<bool> {
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
        let part = self.to.with_extension("log.part");
        let mut out = File::create(&part)?;
        let (bytes, more) = copy(&mut file, self.bound, secrets.clone(), &mut out)?;
        drop(out);
        self.bytes = bytes;
        self.dropped = match metadata.size().saturating_sub(bytes) {
            // it grew while it was read
            0 => u64::from(more),
            rest => rest,
        };
        std::fs::rename(&part, &self.to)?;
        self.seen = Some(mark);
        Ok(true)
    }
}

/// Copies at most `bound` bytes through `secrets`; tells how many it read, and whether there are more.
fn copy(
    from: &mut impl Read,
    bound: u64,
    mut secrets: Redactor,
    to: &mut impl Write,
) -> io::Result<(u64, bool)> {
    let mut piece = vec![0; PIECE];
    let mut bytes = 0;
    loop {
        let room = usize::try_from(bound - bytes).map_or(PIECE, |room| room.min(PIECE));
        // at the bound one byte more tells whether that was all
        let length = match from.read(&mut piece[..room.max(1)]) {
            Ok(0) => {
                to.write_all(&secrets.finish())?;
                return Ok((bytes, false));
            }
            // what is held back may be a secret whose end is beyond the bound
            Ok(_) if room == 0 => return Ok((bytes, true)),
            Ok(length) => length,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        bytes += length as u64;
        to.write_all(&secrets.push(&piece[..length]))?;
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
                match trajectory.follow(&secrets) {
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

    use crate::agent::adapter::{Adapters, Passed};

    fn secrets(value: &str) -> Redactor {
        let mut spec = Adapters::new("/nonexistent".into())
            .find("shell")
            .unwrap()
            .spec;
        spec.env.pass = vec!["KEY".into()];
        Redactor::new(&Passed::resolve(&spec, |_| Some(value.into())).unwrap())
    }

    #[test]
    fn a_rewritten_file_is_copied_and_a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("t.json"), dir.path().join("agent.log"));
        let mut trajectory = Trajectory::new(dir.path().into(), "t.json".into(), to.clone(), 16);
        let none = Redactor::default();
        assert!(!trajectory.follow(&none).unwrap());
        std::fs::write(&from, "{\"a\":1}").unwrap();
        assert!(trajectory.follow(&none).unwrap());
        assert!(!trajectory.follow(&none).unwrap());
        std::fs::write(&from, "{\"a\":\"secret-1\",\"b\":2}").unwrap();
        assert!(trajectory.follow(&secrets("secret-1")).unwrap());
        assert_eq!(std::fs::read_to_string(&to).unwrap(), "{\"a\":\"[KEY]\",");
        assert_eq!((trajectory.bytes, trajectory.dropped), (16, 6));
        let secret = dir.path().join("secret");
        std::fs::write(&secret, "s").unwrap();
        std::fs::remove_file(&from).unwrap();
        std::os::unix::fs::symlink(&secret, &from).unwrap();
        assert!(!trajectory.follow(&none).unwrap());
    }

    #[test]
    fn a_secret_that_the_bound_cuts_is_not_begun() {
        for (bound, kept) in [
            (3, "key"),
            (4, "key "),
            (5, "key "),
            (11, "key "),
            (12, "key [KEY]"),
            (13, "key [KEY] "),
            (16, "key [KEY] sec"),
        ] {
            let mut to = Vec::new();
            let copied = copy(
                &mut &b"key secret-1 sec"[..],
                bound,
                secrets("secret-1"),
                &mut to,
            );
            assert_eq!(copied.unwrap(), (bound, bound < 16));
            assert_eq!(String::from_utf8(to).unwrap(), kept, "{bound}");
        }
    }

    /// As a file of nothing but a hole is read and written.
    struct Hole {
        written: u64,
        largest: usize,
    }

    impl Write for Hole {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.written += bytes.len() as u64;
            self.largest = self.largest.max(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_large_one_is_never_whole_in_memory() {
        let bound = 64 << 20;
        let mut to = Hole {
            written: 0,
            largest: 0,
        };
        let copied = copy(&mut io::repeat(0), bound, secrets("secret-1"), &mut to);
        assert_eq!(copied.unwrap(), (bound, true));
        assert_eq!(to.written, bound);
        assert!(to.largest <= 2 * PIECE, "{} at once", to.largest);
    }
}
