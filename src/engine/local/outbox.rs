//! Frames on their way to the worker, written as it reads them.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::super::Message;
use super::super::frame::encode;

/// Past this many waiting bytes nothing more is read from processes: they wait for the worker.
const FULL: usize = 4 << 20;

#[derive(Debug, Default)]
pub(super) struct Outbox {
    frames: VecDeque<Vec<u8>>,
    /// Bytes of the first frame that are written.
    written: usize,
    waiting: usize,
}

impl Outbox {
    pub(super) fn put(&mut self, message: &Message, payload: &[u8]) {
        // our own messages are serialisable and pieces of output are far below the bound
        if let Ok(frame) = encode(message, payload) {
            self.waiting += frame.len();
            self.frames.push_back(frame);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.waiting > FULL
    }

    /// Writes what the worker takes now.
    pub(super) fn flush(&mut self, out: impl AsFd) -> io::Result<()> {
        while let Some(frame) = self.frames.front() {
            match nix::unistd::write(&out, &frame[self.written..]) {
                Ok(n) => {
                    self.written += n;
                    self.waiting -= n;
                    if self.written == frame.len() {
                        self.frames.pop_front();
                        self.written = 0;
                    }
                }
                Err(Errno::EAGAIN) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }

    /// Writes everything, or gives up after `patience`: the last words.
    pub(super) fn finish(&mut self, out: BorrowedFd<'_>, patience: Duration) {
        let until = Instant::now() + patience;
        while !self.is_empty() && Instant::now() < until && self.flush(out).is_ok() {
            let mut fds = [PollFd::new(out, PollFlags::POLLOUT)];
            poll(&mut fds, PollTimeout::from(50_u8)).ok();
        }
    }
}
