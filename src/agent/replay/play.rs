//! `infradev __replay FOLDER WORKTREE`: the process that stands for the recorded agent.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::recording::{DEFAULT_RATE, LOG, Recording};

/// Longest piece that is written at once.
const CHUNK: u64 = 1 << 20;

/// The hidden subcommand.
pub fn replay_main() -> ExitCode {
    let mut arguments = std::env::args().skip(2);
    let (Some(folder), Some(worktree)) = (arguments.next(), arguments.next()) else {
        writeln!(io::stderr(), "replay: __replay FOLDER WORKTREE").ok();
        return ExitCode::FAILURE;
    };
    let mut out = io::stdout();
    match play(Path::new(&folder), Path::new(&worktree), &mut out) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            writeln!(io::stderr(), "replay: {folder}: {error}").ok();
            ExitCode::FAILURE
        }
    }
}

/// The log goes out at its times; changes are spread over it, and all are made at its end.
fn play(folder: &Path, worktree: &Path, out: &mut impl Write) -> io::Result<()> {
    let recording = Recording::read(folder)?;
    let log = File::open(folder.join(LOG))?;
    let total = log.metadata()?.len().max(1);
    let mut log = BufReader::with_capacity(1 << 16, log);
    let mut changes = recording.changes.iter().enumerate();
    let share = recording.changes.len() as u64 + 1;
    let mut next = changes.next();
    let since = Instant::now();
    let mut written = 0;
    let mut told = |written: u64| -> io::Result<()> {
        while let Some((n, change)) = next {
            if written * share < total * (n as u64 + 1) {
                break;
            }
            change.make(folder, worktree)?;
            next = changes.next();
        }
        Ok(())
    };
    if recording.rate.is_none() && !recording.pieces.is_empty() {
        for (at, bytes) in recording.pieces {
            wait(since, Duration::from_millis(at));
            written += copy(&mut log, out, bytes)?;
            told(written)?;
        }
        // what came after the last time that was noted
        written += copy(&mut log, out, u64::MAX)?;
    } else {
        let rate = recording.rate.filter(|r| *r > 0.0).unwrap_or(DEFAULT_RATE);
        let mut line = Vec::new();
        for n in 1_u32.. {
            line.clear();
            if log.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            out.write_all(&line)?;
            out.flush()?;
            written += line.len() as u64;
            told(written)?;
            wait(since, Duration::from_secs_f64(f64::from(n) / rate));
        }
    }
    told(written.max(total))
}

fn wait(since: Instant, at: Duration) {
    std::thread::sleep(at.saturating_sub(since.elapsed()));
}

fn copy(log: &mut impl Read, out: &mut impl Write, bytes: u64) -> io::Result<u64> {
    let mut copied = 0;
    while copied < bytes {
        let n = io::copy(&mut log.take(CHUNK.min(bytes - copied)), out)?;
        if n == 0 {
            break;
        }
        copied += n;
    }
    out.flush()?;
    Ok(copied)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::recording::{Change, Content};
    use super::*;

    #[test]
    fn a_recording_is_played_with_its_changes() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, tree) = (dir.path().join("recording"), dir.path().join("tree"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::create_dir_all(tree.join("a")).unwrap();
        std::fs::write(tree.join("gone"), "x").unwrap();
        std::fs::write(folder.join(LOG), "one\ntwo\nthree").unwrap();
        std::fs::write(folder.join("0"), "new").unwrap();
        let change = |path: &str, content| Change {
            path: path.into(),
            content,
        };
        let file = |executable| Content::File {
            name: "0".into(),
            executable,
        };
        let mut recording = Recording {
            pieces: vec![(0, 4), (80, 4)],
            rate: None,
            changes: vec![
                change("gone", Content::Gone),
                change("a/b/c.sh", file(true)),
                change(
                    "link",
                    Content::Link {
                        target: b"/nowhere".to_vec(),
                    },
                ),
                // a file where a folder was
                change("a", file(false)),
            ],
        };
        recording.write(&folder).unwrap();
        let mut out = Vec::new();
        let since = Instant::now();
        play(&folder, &tree, &mut out).unwrap();
        assert!(since.elapsed() >= Duration::from_millis(80));
        assert_eq!(out, b"one\ntwo\nthree");
        assert!(!tree.join("gone").exists());
        assert_eq!(std::fs::read_to_string(tree.join("a")).unwrap(), "new");
        assert!(tree.join("link").is_symlink());
        recording.rate = Some(1000.0);
        recording.changes = vec![change("../out", Content::Gone)];
        recording.write(&folder).unwrap();
        assert!(play(&folder, &tree, &mut Vec::new()).is_err());
        assert_eq!(Recording::pieces("1 2\n\n3 4\nx"), [(1, 2), (3, 4)]);
    }
}
