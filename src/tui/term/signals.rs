//! Signals, stops and hang-ups.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal;
use nix::unistd::{getpgrp, getsid};
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};
use tokio::sync::Notify;

use super::screen::Screen;

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Leave in good order.
    End,
    /// Stop, and come back when continued.
    Stop,
    /// Somebody continued us; whoever stopped us may have changed the terminal.
    Continued,
}

pub struct Signals {
    terminate: Stream,
    hangup: Stream,
    interrupt: Stream,
    stop: Stream,
    continued: Stream,
}

impl Signals {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            stop: signal(SignalKind::from_raw(signal::SIGTSTP as i32))?,
            continued: signal(SignalKind::from_raw(signal::SIGCONT as i32))?,
        })
    }

    /// Drops what keys and the shell have sent while another program had the terminal.
    pub fn forget_keys(&mut self) -> io::Result<()> {
        self.interrupt = signal(SignalKind::interrupt())?;
        self.stop = signal(SignalKind::from_raw(signal::SIGTSTP as i32))?;
        self.continued = signal(SignalKind::from_raw(signal::SIGCONT as i32))?;
        Ok(())
    }

    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.terminate.recv() => Signal::End,
            _ = self.hangup.recv() => Signal::End,
            _ = self.interrupt.recv() => Signal::End,
            _ = self.stop.recv() => Signal::Stop,
            _ = self.continued.recv() => Signal::Continued,
        }
    }
}

/// Gives the terminal back and stops until somebody continues us.
pub fn suspend(screen: &mut Screen) -> Result<(), &'static str> {
    // a session's leader has no shell above it that could continue it
    if getsid(None).is_ok_and(|leader| leader == getpgrp()) {
        return Err("there is no shell here to go back to");
    }
    screen.leave();
    // our own handler took SIGTSTP, so the stop that cannot be handled is used
    let stopped = signal::raise(signal::Signal::SIGSTOP);
    let back = screen.again();
    match (stopped, back) {
        (Ok(()), Ok(())) => Ok(()),
        (Err(_), _) => Err("the system did not let us stop"),
        (_, Err(_)) => Err("the terminal did not take us back"),
    }
}

/// Notifies once the terminal's other end is closed: nothing else tells when the signal is ignored.
/// A thread waits for it, so that nobody has to look; it lasts as long as the process.
pub fn hangup() -> io::Result<Arc<Notify>> {
    let gone = Arc::new(Notify::new());
    let tell = Arc::clone(&gone);
    let wait = move || {
        let stdin = io::stdin();
        let mut polled = [PollFd::new(stdin.as_fd(), PollFlags::empty())];
        while poll(&mut polled, PollTimeout::NONE) == Err(Errno::EINTR) {}
        let closed = PollFlags::POLLHUP | PollFlags::POLLERR;
        if polled[0]
            .revents()
            .is_some_and(|seen| seen.intersects(closed))
        {
            tell.notify_one();
        }
    };
    std::thread::Builder::new()
        .name("hangup".into())
        .spawn(wait)?;
    Ok(gone)
}
