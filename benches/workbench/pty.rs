//! A terminal of our own, whose output is stamped as it comes.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};

/// What the workbench writes last of each frame.
const END: &[u8] = b"\x1b[?2026l";

/// Bytes, and when the last of them came.
type Piece = (Instant, Vec<u8>);

pub struct Pty {
    child: Child,
    master: File,
    pieces: Receiver<Piece>,
    pub screen: vt100::Parser,
    pub bytes: usize,
    /// Frames that came.
    pub drawn: usize,
    /// Not yet told to be a whole frame.
    open: Vec<u8>,
}

impl Pty {
    pub fn start(command: &mut Command, (columns, rows): (u16, u16)) -> Self {
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let ends = openpty(Some(&size), None).unwrap();
        let slave = |end: &OwnedFd| Stdio::from(end.try_clone().unwrap());
        let child = command
            .env("TERM", "xterm-256color")
            .env_remove("TMUX")
            .stdin(slave(&ends.slave))
            .stdout(slave(&ends.slave))
            .stderr(slave(&ends.slave))
            .spawn()
            .unwrap();
        drop(ends.slave);
        let master = File::from(ends.master);
        let mut reading = master.try_clone().unwrap();
        let (sender, pieces) = channel();
        std::thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(n) = reading.read(&mut buffer) {
                if n == 0 || sender.send((Instant::now(), buffer[..n].to_vec())).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            master,
            pieces,
            screen: vt100::Parser::new(rows, columns, 0),
            bytes: 0,
            drawn: 0,
            open: Vec::new(),
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn send(&mut self, keys: &str) -> Instant {
        let at = Instant::now();
        self.master.write_all(keys.as_bytes()).unwrap();
        at
    }

    /// The next piece of output: when it came, and the frames that it ended.
    fn take(&mut self, until: Instant) -> Option<(Instant, usize)> {
        let wait = until.saturating_duration_since(Instant::now());
        let (at, bytes) = self.pieces.recv_timeout(wait).ok()?;
        self.bytes += bytes.len();
        self.screen.process(&bytes);
        self.open.extend_from_slice(&bytes);
        let mut frames = 0;
        while let Some(end) = memchr::memmem::find(&self.open, END) {
            frames += 1;
            self.open.drain(..end + END.len());
        }
        self.drawn += frames;
        Some((at, frames))
    }

    /// The frames of a while.
    pub fn frames(&mut self, time: Duration) -> usize {
        let (until, before) = (Instant::now() + time, self.drawn);
        while self.take(until).is_some() {}
        self.drawn - before
    }

    /// When the next frame is whole.
    pub fn next_frame(&mut self, within: Duration) -> Option<Instant> {
        let until = Instant::now() + within;
        loop {
            if let (at, 1..) = self.take(until)? {
                return Some(at);
            }
        }
    }

    /// When the screen first has (or has no more) a text, counted from its last byte.
    pub fn shows(&mut self, text: &str, there: bool, within: Duration) -> Instant {
        let until = Instant::now() + within;
        let mut last = Instant::now();
        loop {
            if self.screen.screen().contents().contains(text) == there {
                return last;
            }
            match self.take(until) {
                Some((at, _)) => last = at,
                None => panic!(
                    "{text:?} there: {there}, not on\n{}",
                    self.screen.screen().contents()
                ),
            }
        }
    }

    /// User and system time that its threads used.
    pub fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        let fields: Vec<&str> = stat
            .rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .collect();
        // the 14th and the 15th of all, in hundredths of a second
        let ticks: u64 = [11, 12]
            .iter()
            .map(|at| fields[*at].parse::<u64>().unwrap())
            .sum();
        Duration::from_millis(ticks * 10)
    }

    /// Anonymous memory, now and at most, in MB.
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find(|l| l.starts_with("RssAnon:")).unwrap();
        line.split_whitespace()
            .nth(1)
            .unwrap()
            .parse::<u64>()
            .unwrap()
            / 1000
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let _ = self.master.write_all(b"q");
        for _ in 0..100 {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
