//! The hollow patch (METHOD.md section 3): gold's new interfaces without what stands behind them.
//!
//! - [`run`]: which functions raise, and the files with them
//! - [`body`]: a body that raises; bodies that there is nothing to take from
//! - [`lambdas`]: functions that are written as an assignment
//! - [`import_time`]: functions that must work so that modules can be imported, by
//!   [`names`], [`imports`], [`values`] and [`operators`]: who is called there
//! - [`found`]: the same by what a run of the tests told

mod body;
mod found;
mod import_time;
mod imports;
mod lambdas;
mod names;
mod operators;
mod run;
mod values;

pub use body::RAISES;
pub use found::{Works, raised_in};
pub use run::{Hollow, Kept, Raised, Rule, Unparsed, Why, hollow, hollow_but};

#[cfg(test)]
mod tests;
