//! Runs a package client: lines as they come, a bounded record of them, and a stop that takes the
//! whole process group with it.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::EnvironmentError;

/// Lines kept of what a client said.
const LINES_KEPT: usize = 200;
/// Longest line kept, in bytes.
const LINE_BYTES: u64 = 2000;

/// One process to run.
pub(super) struct Invocation<'a> {
    pub program: &'a Path,
    pub args: &'a [&'a OsStr],
    pub env: &'a BTreeMap<OsString, OsString>,
    /// Held open by the process as its standard input: a lock on it outlives us until the process
    /// is gone as well, so an orphan of a killed worker never writes beside a new build.
    pub lock: Option<&'a File>,
    pub stop: &'a AtomicBool,
    pub line: &'a dyn Fn(&str),
    pub limit: Duration,
}

pub(super) struct Finished {
    pub status: ExitStatus,
    /// The last lines of both streams, sanitised.
    pub output: String,
}

impl Invocation<'_> {
    pub fn run(&self) -> Result<Finished, EnvironmentError> {
        let io = |source| EnvironmentError::Io {
            path: self.program.to_path_buf(),
            source,
        };
        let stdin = match self.lock {
            Some(lock) => Stdio::from(lock.try_clone().map_err(io)?),
            None => Stdio::null(),
        };
        let mut child = Command::new(self.program)
            .args(self.args)
            .env_clear()
            .envs(self.env)
            // no project's settings: only the user's own
            .current_dir("/")
            .process_group(0)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(io)?;
        let (sender, lines) = mpsc::sync_channel::<String>(64);
        if let Some(stream) = child.stdout.take() {
            read_lines(stream, sender.clone());
        }
        if let Some(stream) = child.stderr.take() {
            read_lines(stream, sender.clone());
        }
        drop(sender);

        let deadline = Instant::now() + self.limit;
        let mut kept = VecDeque::new();
        let mut ended: Option<(ExitStatus, Instant)> = None;
        loop {
            match lines.recv_timeout(Duration::from_millis(50)) {
                Ok(line) => {
                    (self.line)(&line);
                    if kept.len() == LINES_KEPT {
                        kept.pop_front();
                    }
                    kept.push_back(line);
                }
                Err(RecvTimeoutError::Disconnected) if ended.is_some() => break,
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(Duration::from_millis(5)),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if ended.is_none() {
                ended = child.try_wait().map_err(io)?.map(|s| (s, Instant::now()));
            }
            // something it left behind may hold the pipes: do not wait for that
            if ended.is_some_and(|(_, at)| at.elapsed() > Duration::from_secs(1)) {
                break;
            }
            if ended.is_none() && self.stop.load(Ordering::Relaxed) {
                kill(&mut child);
                return Err(EnvironmentError::Stopped);
            }
            if ended.is_none() && Instant::now() > deadline {
                kill(&mut child);
                kept.push_back(format!("stopped after {} s", self.limit.as_secs()));
            }
        }
        let status = match ended {
            Some((status, _)) => status,
            None => child.wait().map_err(io)?,
        };
        Ok(Finished {
            status,
            output: Vec::from(kept).join("\n"),
        })
    }
}

/// Kills the group and collects the process.
fn kill(child: &mut Child) {
    if let Ok(pid) = i32::try_from(child.id()) {
        let _ = nix::sys::signal::killpg(
            nix::unistd::Pid::from_raw(pid),
            nix::sys::signal::Signal::SIGKILL,
        );
    }
    let _ = child.wait();
}

fn read_lines(stream: impl Read + Send + 'static, sender: mpsc::SyncSender<String>) {
    std::thread::spawn(move || {
        let mut reader = BufReader::new(stream);
        loop {
            let mut bytes = Vec::new();
            match reader
                .by_ref()
                .take(LINE_BYTES)
                .read_until(b'\n', &mut bytes)
            {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let line = plain(&String::from_utf8_lossy(&bytes));
            if !line.trim().is_empty() && sender.send(line).is_err() {
                return;
            }
        }
    });
}

/// Text without control characters, escape sequences included, and without trailing space.
pub(super) fn plain(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => {
                // CSI: up to its final byte; anything else: one more character
                if characters.next() == Some('[') {
                    for c in characters.by_ref() {
                        if ('@'..='~').contains(&c) {
                            break;
                        }
                    }
                }
            }
            '\t' => clean.push(' '),
            c if c.is_control() => {}
            c => clean.push(c),
        }
    }
    clean.truncate(clean.trim_end().len());
    clean
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn sh(script: &str, stop: &AtomicBool, limit: Duration) -> Result<Finished, EnvironmentError> {
        Invocation {
            program: Path::new("/bin/sh"),
            args: &[OsStr::new("-c"), OsStr::new(script)],
            env: &BTreeMap::new(),
            lock: None,
            stop,
            line: &|_| {},
            limit,
        }
        .run()
    }

    #[test]
    fn output_is_kept_sanitised_and_bounded() {
        let stop = AtomicBool::new(false);
        let done = sh(
            "printf 'a\\033[31mb\\033[0m\\n'; echo err >&2; exit 3",
            &stop,
            Duration::from_secs(20),
        )
        .unwrap();
        assert_eq!(done.status.code(), Some(3));
        assert!(done.output.contains("ab") && done.output.contains("err"));
        let done = sh("seq 1 5000", &stop, Duration::from_secs(20)).unwrap();
        assert_eq!(done.output.lines().count(), LINES_KEPT);
        assert!(done.output.ends_with("5000"));
    }

    #[test]
    fn a_stop_and_a_limit_end_the_whole_group() {
        let stop = AtomicBool::new(true);
        let begun = Instant::now();
        assert!(matches!(
            sh("sleep 60 & sleep 60", &stop, Duration::from_secs(60)),
            Err(EnvironmentError::Stopped)
        ));
        let done = sh(
            "sleep 60",
            &AtomicBool::new(false),
            Duration::from_millis(100),
        )
        .unwrap();
        assert!(!done.status.success() && done.output.contains("stopped after"));
        assert!(begun.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_child_left_behind_does_not_hold_us() {
        let begun = Instant::now();
        let stop = AtomicBool::new(false);
        let done = sh("sleep 5 & exit 0", &stop, Duration::from_secs(60)).unwrap();
        assert!(done.status.success());
        assert!(begun.elapsed() < Duration::from_secs(4));
    }
}
