//! What the worker sends, as process 1 takes it.

use std::io;
use std::os::fd::BorrowedFd;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::read;

use super::super::frame::Decoder;
use super::super::{Begin, Request};

/// Waits for the first request; `None` when the worker is gone before it.
pub(super) fn read_begin(
    input: BorrowedFd<'_>,
    decoder: &mut Decoder,
) -> io::Result<Option<Begin>> {
    loop {
        match decoder.take::<Request>().map_err(io::Error::other)? {
            Some((Request::Begin(begin), _)) => return Ok(Some(begin)),
            Some(_) => return Err(io::Error::other("the first request is not `begin`")),
            None => {}
        }
        poll(
            &mut [PollFd::new(input, PollFlags::POLLIN)],
            PollTimeout::NONE,
        )
        .ok();
        if take(input, decoder)? {
            return Ok(None);
        }
    }
}

/// Takes what has come; `true` at the end of the stream.
pub(super) fn take(input: BorrowedFd<'_>, decoder: &mut Decoder) -> io::Result<bool> {
    let mut chunk = vec![0; 64 << 10];
    loop {
        match read(input, &mut chunk) {
            Ok(0) => return Ok(true),
            Ok(n) => decoder.push(&chunk[..n]),
            Err(Errno::EAGAIN) => return Ok(false),
            Err(Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}
