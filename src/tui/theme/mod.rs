//! Themes: a style for each role, from `themes/*.toml`.
//!
//! A role gives colours for a depth of 24 bits, of 256 and of 16 colours; what is missing is
//! derived, and a role that is missing is the one of the bundled theme for the same ground. The
//! default theme uses the terminal's own palette only, so that it reads on light and dark grounds
//! alike. Without colours the modifiers carry the meaning.

mod colour;
mod file;
mod role;
mod style;

pub use file::parse;
pub use role::Role;
pub use style::{BUNDLED, Theme};

#[cfg(test)]
mod tests;
