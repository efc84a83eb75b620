//! Frames to the terminal: changed cells only, one write each, inside a synchronized update.

use std::cell::RefCell;
use std::io::{self, IsTerminal, Write};
use std::rc::Rc;

use crossterm::queue;
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::guard;
use crate::tui::run::WorkbenchError;

/// Collects a frame; nothing reaches the terminal before [`Frame::commit`].
#[derive(Clone, Default)]
struct Frame {
    bytes: Rc<RefCell<Vec<u8>>>,
}

impl Write for Frame {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Frame {
    fn commit(&self) -> io::Result<()> {
        let bytes = std::mem::take(&mut *self.bytes.borrow_mut());
        let mut out = io::stdout().lock();
        out.write_all(&bytes).and_then(|()| out.flush())
    }
}

pub struct Screen {
    terminal: Terminal<CrosstermBackend<Frame>>,
    frame: Frame,
    repaint: bool,
    /// Modes that are on.
    pasting: bool,
    mouse: bool,
}

impl Screen {
    pub fn enter() -> Result<Self, WorkbenchError> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Err(WorkbenchError::NoTerminal);
        }
        guard::enter()?;
        let frame = Frame::default();
        let terminal = Terminal::new(CrosstermBackend::new(frame.clone()));
        match terminal {
            Ok(terminal) => Ok(Self {
                terminal,
                frame,
                repaint: false,
                pasting: false,
                mouse: false,
            }),
            Err(error) => {
                guard::restore();
                Err(error.into())
            }
        }
    }

    /// Columns and rows.
    pub fn size(&self) -> (u16, u16) {
        self.terminal
            .size()
            .map_or((0, 0), |size| (size.width, size.height))
    }

    /// The next frame draws every cell.
    pub fn forget(&mut self) {
        self.repaint = true;
    }

    pub fn draw(&mut self, draw: impl FnOnce(&mut Buffer)) -> io::Result<()> {
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        if std::mem::take(&mut self.repaint) {
            // a resize clears without asking the terminal where its cursor is, as `clear` would:
            // the answer may never come
            let (width, height) = self.size();
            self.terminal.resize(Rect::new(0, 0, width, height))?;
        }
        self.terminal.draw(|frame| draw(frame.buffer_mut()))?;
        queue!(self.terminal.backend_mut(), EndSynchronizedUpdate)?;
        self.frame.commit()
    }

    /// Switches pasting in one piece and the mouse, where they are not so already.
    pub fn modes(&mut self, pasting: bool, mouse: bool) -> io::Result<()> {
        if pasting != self.pasting {
            guard::pasting(pasting)?;
            self.pasting = pasting;
        }
        if mouse != self.mouse {
            guard::mouse(mouse)?;
            self.mouse = mouse;
        }
        Ok(())
    }

    /// Gives the terminal back for a while.
    pub fn leave(&mut self) {
        guard::restore();
        self.pasting = false;
        self.mouse = false;
    }

    /// Takes it again; the next frame draws every cell.
    pub fn again(&mut self) -> io::Result<()> {
        guard::enter()?;
        self.forget();
        Ok(())
    }

    /// Takes it again after somebody else stopped us; the next frame draws every cell.
    pub fn retake(&mut self) -> io::Result<()> {
        guard::retake()?;
        self.pasting = false;
        self.mouse = false;
        self.forget();
        Ok(())
    }

    /// The terminal is gone: nothing more is written.
    pub fn abandon(&mut self) {
        guard::abandon();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        guard::restore();
    }
}
