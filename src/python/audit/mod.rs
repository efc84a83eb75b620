//! What tests look at (METHOD.md sections 3 and 7): every assertion of a suite, its class, and why
//! it is of that class.
//!
//! - [`assertions`]: of any Python files, an agent's own tests included
//! - [`audit`]: of a task's suites, with the flags `no numerical assertion` and
//!   `promised saving unmeasured`
//! - [`class`]: the rules by which an assertion is classed
//! - [`scope`]: what names stand for in a test
//! - [`lists`]: the words that they look for
//! - [`names`]: what a file calls things that it imports
//! - [`helpers`]: functions of a suite that assert on behalf of tests

mod class;
mod find;
mod helpers;
mod lists;
mod names;
mod scope;
mod suites;

pub use class::Class;
pub use find::{Assertion, Assertions, Form, assertions};
pub use helpers::Helper;
pub use suites::{Audit, AuditInput, Counts, Flag, FlagKind, SavingClaim, SuiteAudit, audit};

#[cfg(test)]
mod tests;
