//! Understanding Python source without running it. Pure: text in, text out.
//!
//! - [`symbols`]: functions and methods of a file, with the places of their parts
//! - [`edits`]: symbol edits, the form in which wrong solutions are kept
//! - [`twins`]: must-fail twins of test files

pub mod edits;
mod indent;
pub mod symbols;
pub mod twins;

pub use edits::{EditError, apply};
pub use symbols::{Function, Module, ParseError};
pub use twins::{Twin, twin};
