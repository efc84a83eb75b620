//! The terminal's life cycle: enter and leave, panics, signals, suspend, hang-ups, the user's
//! editor, a shell, the clipboard, saved files.

mod clipboard;
mod editor;
mod guard;
mod save;
mod screen;
mod shell;
mod signals;

pub use clipboard::copy;
pub use editor::edit_file;
pub use guard::restore;
pub use save::save;
pub use screen::Screen;
pub use shell::open_shell;
pub use signals::{Signal, Signals, hangup, suspend};
