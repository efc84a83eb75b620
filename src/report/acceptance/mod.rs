//! The acceptance matrix of a task, from what its verify runs told and kept.
//!
//! - [`told`]: a fold over journals: which cells each patch has now
//! - [`changed`]: files of the task that are newer than that
//! - [`judged`]: the acceptance rule over what is known so far
//! - [`matrix`]: patches down, probe functions across
//! - [`rows`]: what each row comes to, in words
//! - [`read`]: all of it from a home

mod changed;
mod judged;
mod matrix;
mod read;
mod rows;
mod told;

pub use changed::{Changed, Touches};
pub use matrix::{CellCase, Column, GridCell, GridMark, Known, Matrix, Progress, Row, Tried};
pub use read::Reader;
pub use rows::{RowVerdict, Sign};

pub use crate::pipeline::Freshness;
