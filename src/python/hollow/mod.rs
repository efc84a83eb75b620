//! The hollow patch (METHOD.md section 3): gold's new interfaces without what stands behind them.
//!
//! - [`run`]: which functions raise, and the files with them
//! - [`body`]: a body that raises; bodies that there is nothing to take from
//! - [`import_time`]: functions that must work so that modules can be imported

mod body;
mod import_time;
mod run;

pub use body::RAISES;
pub use run::{Hollow, Kept, Raised, Rule, Unparsed, Why, hollow};

#[cfg(test)]
mod tests;
