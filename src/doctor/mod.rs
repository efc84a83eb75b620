//! What this machine can do, found out by trying, and what to install or do.
//!
//! One [`Check`] a subject; a failed one means that nothing can be graded here, a warning that
//! something is missing or slower. [`examine`] changes nothing outside a temporary folder.

mod disk;
mod docker;
mod document;
mod examine;
mod machine;
mod python;
mod sandbox;
mod terminal;

pub use document::{Check, DoctorDocument, Status};
pub use examine::{Examination, examine};
pub use sandbox::try_local;
