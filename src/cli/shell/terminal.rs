//! The person's terminal: in raw mode while the shell has it, and as it was after that, whatever
//! ends it.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};

use nix::sys::termios::{SetArg, Termios, cfmakeraw, tcgetattr, tcsetattr};

use crate::engine::TerminalSize;

/// As it was, while it is ours.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Gives it back when it goes.
pub(super) struct Raw;

impl Raw {
    pub(super) fn enter() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        *lock() = Some(before);
        again();
        Ok(Self)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        restore();
    }
}

fn lock() -> std::sync::MutexGuard<'static, Option<Termios>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes it again, where it is ours: a stop from outside may have changed it.
pub(super) fn again() {
    if let Some(before) = &*lock() {
        let mut raw = before.clone();
        cfmakeraw(&mut raw);
        tcsetattr(io::stdin(), SetArg::TCSANOW, &raw).ok();
    }
}

/// Gives it back; does nothing where that is done. Nothing can be done about one that is gone.
pub(super) fn restore() {
    if let Some(before) = lock().take() {
        tcsetattr(io::stdin(), SetArg::TCSANOW, &before).ok();
    }
}

pub(super) fn there() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

pub(super) fn size() -> TerminalSize {
    let (columns, rows) = crossterm::terminal::size().unwrap_or((80, 24));
    TerminalSize { rows, columns }
}

/// What a program that was killed may have left switched on: the other screen, the mouse, pasting in
/// brackets, a hidden cursor, colours.
pub(super) const CALM: &[u8] =
    b"\x1b[?1047l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?25h\x1b[0m\r\n";
