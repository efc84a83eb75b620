//! The contract of a task (METHOD.md section 4): every name of the project that tests use.
//!
//! - [`facts`]: what a file defines and imports, and what its expressions are
//! - [`world`]: project and suites together; what a name, an attribute or a call gives
//! - [`uses`]: what the suites use, and how
//! - [`implied`]: what they use without naming it
//! - [`run`]: the contract

mod facts;
mod implied;
mod run;
mod uses;
mod world;

pub use run::{Contract, ContractInput, State, Symbol, SymbolKind, contract};
pub use uses::{How, Use};

#[cfg(test)]
mod tests;
