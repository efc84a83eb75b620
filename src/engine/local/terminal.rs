//! A terminal of a process's own, inside the sandbox: its screen is the process's output, what is
//! typed outside is written to it.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::pty::{Winsize, openpty};
use nix::sys::termios::{InputFlags, SetArg, tcgetattr, tcsetattr};
use nix::unistd::write;

use super::super::TerminalSize;
use super::sys;

/// What is typed and not read by the process; more is dropped, as a terminal does with a full
/// buffer, so that nobody can fill process 1.
const TYPED_MAX: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Terminal {
    screen: OwnedFd,
    typed: VecDeque<u8>,
}

impl Terminal {
    /// Opens one for `command`, and the end that its output is read from.
    pub(super) fn open(size: TerminalSize, command: &mut Command) -> io::Result<(Self, OwnedFd)> {
        let opened = openpty(Some(&winsize(size)), None)?;
        for end in [&opened.master, &opened.slave] {
            fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
        }
        fcntl(&opened.master, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        let mut modes = tcgetattr(&opened.slave)?;
        modes.input_flags.insert(InputFlags::IUTF8);
        tcsetattr(&opened.slave, SetArg::TCSANOW, &modes)?;
        let (out, err) = (opened.slave.try_clone()?, opened.slave.try_clone()?);
        command
            .stdin(Stdio::from(opened.slave))
            .stdout(out)
            .stderr(err);
        let screen = opened.master.try_clone()?;
        let typed = VecDeque::new();
        Ok((Self { screen, typed }, opened.master))
    }

    pub(super) fn typed(&mut self, bytes: &[u8]) {
        let room = TYPED_MAX.saturating_sub(self.typed.len());
        self.typed.extend(&bytes[..bytes.len().min(room)]);
        self.pass();
    }

    /// Where what was typed waits for the process: what to wait for, to [`Terminal::pass`] it.
    pub(super) fn waits(&self) -> Option<BorrowedFd<'_>> {
        (!self.typed.is_empty()).then(|| self.screen.as_fd())
    }

    /// Writes what the terminal takes now.
    pub(super) fn pass(&mut self) {
        while !self.typed.is_empty() {
            match write(&self.screen, self.typed.as_slices().0) {
                Ok(n) => drop(self.typed.drain(..n)),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return,
                // nobody has it open any more
                Err(_) => self.typed.clear(),
            }
        }
    }

    /// The kernel tells who is in the foreground.
    pub(super) fn resize(&self, size: TerminalSize) {
        sys::set_terminal_size(&self.screen, winsize(size)).ok();
    }
}

fn winsize(size: TerminalSize) -> Winsize {
    Winsize {
        ws_row: size.rows,
        ws_col: size.columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}
