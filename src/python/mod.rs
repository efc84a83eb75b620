//! Understanding Python source without running it. Pure: text in, text out.
//!
//! - [`symbols`]: functions and methods of a file, with the places of their parts
//! - [`edits`]: symbol edits, the form in which wrong solutions are kept
//! - [`twins`]: must-fail twins of test files
//! - [`hollow`]: the hollow patch of a change
//! - [`encoding`]: the text of a file, by its mark or coding line
//! - [`audit`]: what the assertions of test files look at
//! - [`contract`]: the names of the project that tests use
//! - [`prompt`]: variants of a prompt, a draft, and what is wrong with one
//! - [`signs`]: signs in a patch that it reaches for its tests
//! - `apart`: the tests of a file, each for itself
//! - [`mutants`]: candidates for adversarial patches
//! - [`units`]: files cut into parts that are compared one by one

mod apart;
pub mod audit;
mod code;
pub mod contract;
mod depth;
pub mod edits;
mod encoding;
mod files;
pub mod hollow;
mod indent;
pub mod mutants;
pub mod prompt;
pub mod signs;
pub mod symbols;
pub mod twins;
pub mod units;

pub use apart::{Units, keeps_apart, units};
pub use code::code;
pub use edits::{EditError, apply};
pub use encoding::Source;
pub use files::{Files, changed_python, is_python};
pub use symbols::{Function, Module, ParseError};
pub use twins::{Twin, has_twin, twin};
