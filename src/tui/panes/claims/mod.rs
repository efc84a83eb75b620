//! Claims with what covers them, the acceptance rule, what to revise, warnings.

pub mod draw;
pub mod state;

pub use state::{ClaimsState, Item};
