//! Runs a package client, on this machine or in a container: lines as they come, a bounded record
//! of them, and a stop that takes everything with it that it started.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::EnvironmentError;
use super::lines::{Cutter, Kept};
use super::workshop::{Process, Workshop};
use crate::engine::Stream;

/// Where a process runs.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    Host,
    Container(&'a Workshop),
}

/// One process to run.
pub(super) struct Invocation<'a> {
    pub place: Place<'a>,
    pub program: &'a Path,
    pub args: &'a [&'a OsStr],
    pub env: &'a BTreeMap<OsString, OsString>,
    /// Held open by a process of this machine as its standard input: a lock on it outlives us until
    /// the process is gone as well, so an orphan of a killed worker never writes beside a new build.
    /// (A container ends with its worker, and the next builder sees to that.)
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
        let mut kept = Kept::new(self.line);
        let status = match self.place {
            Place::Host => self.run_here(&mut kept)?,
            Place::Container(workshop) => self.run_inside(workshop, &mut kept)?,
        };
        Ok(Finished {
            status,
            output: kept.text(),
        })
    }

    fn io(&self, source: std::io::Error) -> EnvironmentError {
        EnvironmentError::Io {
            path: self.program.to_path_buf(),
            source,
        }
    }

    fn stopped(&self) -> String {
        format!("stopped after {} s", self.limit.as_secs())
    }

    fn run_inside(
        &self,
        workshop: &Workshop,
        kept: &mut Kept,
    ) -> Result<ExitStatus, EnvironmentError> {
        let text = |text: &OsStr| text.to_string_lossy().into_owned();
        let process = Process {
            argv: std::iter::once(text(self.program.as_os_str()))
                .chain(self.args.iter().map(|arg| text(arg)))
                .collect(),
            env: self.env.iter().map(|(k, v)| (text(k), text(v))).collect(),
            limit: self.limit,
        };
        let (mut out, mut err) = (Cutter::default(), Cutter::default());
        let ended = workshop.run(process, self.stop, &mut |stream, bytes| {
            let cutter = match stream {
                Stream::Stderr => &mut err,
                _ => &mut out,
            };
            cutter.push(bytes, &mut |line| kept.add(line));
        })?;
        for mut cutter in [out, err] {
            cutter.end(&mut |line| kept.add(line));
        }
        if ended.late {
            kept.add(self.stopped());
        }
        ended
            .status
            .map_err(|why| self.io(std::io::Error::other(why)))
    }

    fn run_here(&self, kept: &mut Kept) -> Result<ExitStatus, EnvironmentError> {
        let io = |source| self.io(source);
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
        let mut ended: Option<(ExitStatus, Instant)> = None;
        loop {
            match lines.recv_timeout(Duration::from_millis(50)) {
                Ok(line) => kept.add(line),
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
                kept.add(self.stopped());
            }
        }
        match ended {
            Some((status, _)) => Ok(status),
            None => child.wait().map_err(io),
        }
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

fn read_lines(mut stream: impl Read + Send + 'static, sender: mpsc::SyncSender<String>) {
    std::thread::spawn(move || {
        let mut cutter = Cutter::default();
        let mut bytes = [0; 8 << 10];
        let mut wanted = true;
        while wanted {
            let read = match stream.read(&mut bytes) {
                Ok(0) | Err(_) => break,
                Ok(read) => read,
            };
            cutter.push(&bytes[..read], &mut |line| {
                wanted &= sender.send(line).is_ok();
            });
        }
        cutter.end(&mut |line| drop(sender.send(line)));
    });
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::lines::LINES_KEPT;
    use super::*;

    fn sh(script: &str, stop: &AtomicBool, limit: Duration) -> Result<Finished, EnvironmentError> {
        Invocation {
            place: Place::Host,
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
