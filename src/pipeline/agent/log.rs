//! What an agent prints, on its way to the run's directory: bounded, with the time each piece came.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

/// A growing log.
pub(super) struct LogWriter {
    file: File,
    times: Option<File>,
    since: Instant,
    kept: u64,
    dropped: u64,
    bound: u64,
}

impl LogWriter {
    /// A new log; `bound`: bytes that are kept. `times`: where it is noted when what came.
    pub(super) fn create(path: &Path, times: Option<&Path>, bound: u64) -> io::Result<Self> {
        let open = |path: &Path| {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true).open(path)
        };
        Ok(Self {
            file: open(path)?,
            times: times.map(open).transpose()?,
            since: Instant::now(),
            kept: 0,
            dropped: 0,
            bound,
        })
    }

    /// Keeps a piece. What is over the bound is counted; the bound's line says so, once.
    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = usize::try_from(self.bound - self.kept).unwrap_or(usize::MAX);
        let taken = &bytes[..bytes.len().min(room)];
        if !taken.is_empty() {
            self.write(taken)?;
            self.kept += taken.len() as u64;
        }
        let rest = (bytes.len() - taken.len()) as u64;
        if rest > 0 && self.dropped == 0 {
            let mib = self.bound >> 20;
            let text = format!("\n[the log is over {mib} MiB: the rest is dropped]\n");
            self.write(text.as_bytes())?;
        }
        self.dropped += rest;
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        if let Some(times) = &mut self.times {
            let at = self.since.elapsed().as_millis();
            // at once, and whole: a worker that is killed must not leave bytes without their times
            times.write_all(format!("{at} {}\n", bytes.len()).as_bytes())?;
        }
        Ok(())
    }

    /// Bytes that came, and of these the dropped ones.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.kept + self.dropped, self.dropped)
    }

    pub(super) fn finish(self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// Puts what an earlier attempt of the run left beside: `agent.log` becomes `agent.1.log`, and so
/// on; nothing is lost.
pub(super) fn set_aside(path: &Path) -> io::Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let (stem, extension) = (
        path.file_stem().unwrap_or_default().to_string_lossy(),
        path.extension().unwrap_or_default().to_string_lossy(),
    );
    let free = (1..1000)
        .map(|n| path.with_file_name(format!("{stem}.{n}.{extension}")))
        .find(|p| !p.exists())
        .ok_or_else(|| io::Error::other("a thousand earlier attempts"))?;
    std::fs::rename(path, free)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_log_is_bounded_and_remembers_when_it_came() {
        let dir = tempfile::tempdir().unwrap();
        let (path, times) = (dir.path().join("agent.log"), dir.path().join("agent.times"));
        let mut log = LogWriter::create(&path, Some(&times), 8).unwrap();
        log.push(b"12345").unwrap();
        log.push(b"67890").unwrap();
        log.push(b"lost").unwrap();
        assert_eq!(log.counts(), (14, 6));
        // as it stands where the worker is killed now
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            text,
            "12345678\n[the log is over 0 MiB: the rest is dropped]\n"
        );
        let sum: usize = std::fs::read_to_string(&times)
            .unwrap()
            .lines()
            .map(|l| l.split_once(' ').unwrap().1.parse::<usize>().unwrap())
            .sum();
        assert_eq!(sum, text.len());
        log.finish().unwrap();
    }

    #[test]
    fn earlier_attempts_keep_their_logs() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("agent.log");
        set_aside(&path).unwrap();
        for text in ["one", "two"] {
            std::fs::write(&path, text).unwrap();
            set_aside(&path).unwrap();
        }
        assert!(!path.exists());
        let read = |n| std::fs::read_to_string(dir.path().join(format!("agent.{n}.log"))).unwrap();
        assert_eq!((read(1), read(2)), ("one".into(), "two".into()));
    }
}
