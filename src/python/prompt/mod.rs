//! The prompt of a task (METHOD.md section 4).
//!
//! - [`sections`]: the variants of a prompt, and the sections that belong to them
//! - [`draft`]: contract and claims in the template: variants, and a prompt to begin with
//! - [`lint`]: what a prompt leaves out, and what it gives away
//! - [`leaks`]: solution material in a prompt
//! - [`promises`]: claims and a prompt's promises, each held against the other
//! - [`words`]: words that say how it is checked, and words that say nothing
//! - [`spans`]: which of a prompt is code
//! - [`lexer`]: tokens of Python and of prose alike

mod draft;
mod leaks;
mod lexer;
mod lint;
mod promises;
mod sections;
mod spans;
mod words;

pub use draft::{draft, render};
pub use lint::{Finding, FindingKind, LintInput, lint, lint_leaks};
pub use sections::Variant;

#[cfg(test)]
mod tests;
