//! Leaving the terminal as it was found: on return, on a panic, twice if need be.

use std::io::{self, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::Show;
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::style::Print;
use crossterm::terminal::{
    EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode,
};
use crossterm::{cursor, queue};

/// Buttons and the wheel, as text of any size; no motion, which is a flood over SSH.
const MOUSE_ON: &str = "\u{1b}[?1000h\u{1b}[?1006h";
const MOUSE_OFF: &str = "\u{1b}[?1006l\u{1b}[?1000l";

/// The terminal is ours now.
static ENTERED: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// Raw mode, the other screen, no cursor.
pub fn enter() -> io::Result<()> {
    // colours are decided in `caps`; the terminal library's own handling of NO_COLOR would also
    // take reversed and bold away
    crossterm::style::force_color_output(true);
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // a failed job is told in the footer; only a panic of the main thread ends us
            if std::thread::current().name() == Some("main") {
                restore();
            }
            if !ENTERED.load(Ordering::SeqCst) {
                before(panic);
            }
        }));
    });
    enable_raw_mode()?;
    ENTERED.store(true, Ordering::SeqCst);
    let mut out = io::stdout().lock();
    let entered = queue!(out, EnterAlternateScreen, cursor::Hide).and_then(|()| out.flush());
    if entered.is_err() {
        restore();
    }
    entered
}

/// Enters again without leaving first: whoever stopped us may have changed anything of it.
pub fn retake() -> io::Result<()> {
    // what is raw already is not made raw once more
    let _ = disable_raw_mode();
    enter()
}

/// Whether pasted text comes as one piece: only while a line is typed, for a terminal that never
/// ends such a piece would swallow every key.
pub fn pasting(on: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if on {
        queue!(out, EnableBracketedPaste)?;
    } else {
        queue!(out, DisableBracketedPaste)?;
    }
    out.flush()
}

/// Whether the mouse is ours.
pub fn mouse(on: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    queue!(out, Print(if on { MOUSE_ON } else { MOUSE_OFF }))?;
    out.flush()
}

/// Gives the terminal back; does nothing where that is done already.
pub fn restore() {
    if !ENTERED.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout().lock();
    // nothing can be done about a terminal that does not take this
    let _ = queue!(
        out,
        EndSynchronizedUpdate,
        Print(MOUSE_OFF),
        DisableBracketedPaste,
        LeaveAlternateScreen,
        Show
    )
    .and_then(|()| out.flush());
    let _ = disable_raw_mode();
}

/// Forgets the terminal without writing to it: its other end is gone.
pub fn abandon() {
    ENTERED.store(false, Ordering::SeqCst);
}
