//! One process that the worker asked for, and its streams.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::{Whence, lseek, pipe2, read, write};

use super::super::{Begin, Message, ProcessSpec, ProcessStatus, Stream, TerminalSize};
use super::outbox::Outbox;
use super::sys::{self, Birth};
use super::terminal::Terminal;

/// The variable that names the side channel's descriptor.
const CHANNEL_VARIABLE: &str = "INFRADEV_CHANNEL_FD";
/// Output that comes after a process's end, from children that still hold its streams, is passed on
/// for this long.
const LINGER: Duration = Duration::from_millis(100);
/// Most that is read of one stream before the others have their turn.
const TURN: usize = 8;
const CHUNK: usize = 64 << 10;
/// A stream's pipe, where the user's allowance lets it be so large.
const PIPE: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Process {
    pub id: u32,
    pub pid: i32,
    streams: Vec<(Stream, OwnedFd)>,
    terminal: Option<Terminal>,
    kept_bytes: u64,
    dropped_bytes: u64,
    truncated: Vec<Stream>,
    ended: Option<(ProcessStatus, Instant)>,
}

impl Process {
    /// `terminal`: its size, where the process is to have one instead of streams.
    pub(super) fn start(
        spec: &ProcessSpec,
        stdin: &[u8],
        terminal: Option<TerminalSize>,
        begin: &Begin,
    ) -> io::Result<Self> {
        let Some((program, arguments)) = spec.argv.split_first() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no program"));
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(&begin.env)
            .envs(&spec.env)
            .current_dir(&spec.cwd);
        let (mut streams, terminal) = if let Some(size) = terminal {
            let (terminal, out) = Terminal::open(size, &mut command)?;
            (vec![(Stream::Stdout, out)], Some(terminal))
        } else {
            let (out, out_end) = stream()?;
            let (err, err_end) = stream()?;
            command.stdin(given(stdin)?).stdout(out_end).stderr(err_end);
            (vec![(Stream::Stdout, out), (Stream::Stderr, err)], None)
        };
        let mut channel = None;
        if spec.channel {
            let (reader, writer) = stream()?;
            // read first: what is said on it places the words of the other two
            streams.insert(0, (Stream::Channel, reader));
            command.env(CHANNEL_VARIABLE, writer.as_raw_fd().to_string());
            channel = Some(writer);
        }
        let birth = Birth {
            terminal: terminal.is_some(),
            channel: channel.as_ref().map(AsRawFd::as_raw_fd),
            file_bytes: begin.limits.file_bytes,
            threads: most_threads(begin),
        };
        sys::prepare(&mut command, birth);
        let child = command.spawn()?;
        Ok(Self {
            id: spec.id,
            // reaped with everybody else, not through the handle
            pid: child.id().cast_signed(),
            streams,
            terminal,
            kept_bytes: 0,
            dropped_bytes: 0,
            truncated: Vec::new(),
            ended: None,
        })
    }

    pub(super) fn descriptors(&self) -> impl Iterator<Item = (Stream, &OwnedFd)> {
        self.streams.iter().map(|(stream, fd)| (*stream, fd))
    }

    pub(super) fn terminal(&mut self) -> Option<&mut Terminal> {
        self.terminal.as_mut()
    }

    /// What to wait for until more of what was typed can be passed on.
    pub(super) fn typing(&self) -> Option<BorrowedFd<'_>> {
        self.terminal.as_ref()?.waits()
    }

    /// Reads what is there of one stream, up to a turn's worth, and passes it on.
    pub(super) fn pump(&mut self, stream: Stream, limit: u64, out: &mut Outbox) {
        let Some(at) = self.streams.iter().position(|(s, _)| *s == stream) else {
            return;
        };
        let mut chunk = vec![0; CHUNK];
        for _ in 0..TURN {
            match read(&self.streams[at].1, &mut chunk) {
                Ok(0) => {
                    self.streams.remove(at);
                    return;
                }
                Ok(n) => self.pass(stream, &chunk[..n], limit, out),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return,
                Err(_) => {
                    self.streams.remove(at);
                    return;
                }
            }
        }
    }

    fn pass(&mut self, stream: Stream, bytes: &[u8], limit: u64, out: &mut Outbox) {
        let id = self.id;
        let mut keep = bytes.len();
        // a terminal's output is somebody's screen
        if stream != Stream::Channel && self.terminal.is_none() {
            keep = keep.min(usize::try_from(limit - self.kept_bytes).unwrap_or(usize::MAX));
            self.kept_bytes += keep as u64;
            self.dropped_bytes += (bytes.len() - keep) as u64;
        }
        if keep > 0 {
            out.put(&Message::Output { id, stream }, &bytes[..keep]);
        }
        if keep < bytes.len() && !self.truncated.contains(&stream) {
            self.truncated.push(stream);
            out.put(&Message::Truncated { id, stream }, &[]);
        }
    }

    /// Reads what is left of all streams and lets them go.
    pub(super) fn drain(&mut self, limit: u64, out: &mut Outbox) {
        let left: Vec<Stream> = self.streams.iter().map(|(s, _)| *s).collect();
        for stream in left {
            // no more than a full pipe: somebody may be writing still
            for _ in 0..PIPE.div_ceil(TURN * CHUNK) {
                self.pump(stream, limit, out);
            }
        }
        self.streams.clear();
    }

    pub(super) fn end(&mut self, status: ProcessStatus) {
        self.ended = Some((status, Instant::now()));
    }

    /// Until when the streams of an ended process are waited for.
    pub(super) fn lingers_until(&self) -> Option<Instant> {
        self.ended.map(|(_, at)| at + LINGER)
    }

    /// Whether everything was said about it; says it. Streams that others still hold are let go
    /// after a while, with what is in them by then.
    pub(super) fn finish(&mut self, now: Instant, limit: u64, out: &mut Outbox) -> bool {
        let Some((status, at)) = self.ended else {
            return false;
        };
        if !self.streams.is_empty() {
            if now < at + LINGER {
                return false;
            }
            self.drain(limit, out);
        }
        let (id, dropped_bytes) = (self.id, self.dropped_bytes);
        out.put(
            &Message::Exited {
                id,
                status,
                dropped_bytes,
            },
            &[],
        );
        true
    }
}

/// The kernel's own bound on threads. It lies well above the watcher's, which is the one that is
/// reported: a fork bomb that only meets errors fizzles out between two looks, and the shell that
/// lit it waits on as if nothing had happened.
fn most_threads(begin: &Begin) -> u64 {
    begin.foreign_threads + 4 * begin.limits.processes.min(1 << 20) + 256
}

/// A pipe whose reading end does not block.
fn stream() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = pipe2(OFlag::O_CLOEXEC)?;
    fcntl(&reader, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    // fewer turns for big outputs; a user has an allowance for it, without which it stays small
    fcntl(
        &reader,
        FcntlArg::F_SETPIPE_SZ(PIPE.try_into().unwrap_or(i32::MAX)),
    )
    .ok();
    Ok((reader, writer))
}

/// Standard input: a sealed file in memory, so that nobody has to write while it is read.
fn given(bytes: &[u8]) -> io::Result<Stdio> {
    if bytes.is_empty() {
        return Ok(Stdio::null());
    }
    let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
    let file = memfd_create(c"stdin", flags)?;
    let mut rest = bytes;
    while !rest.is_empty() {
        match write(file.as_fd(), rest) {
            Ok(n) => rest = &rest[n..],
            Err(Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
    lseek(&file, 0, Whence::SeekSet)?;
    let seals = SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SHRINK;
    fcntl(&file, FcntlArg::F_ADD_SEALS(seals | SealFlag::F_SEAL_SEAL))?;
    Ok(file.into())
}
