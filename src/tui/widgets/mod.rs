//! Pieces that panes are drawn with.

pub mod canvas;
pub mod figures;
pub mod meter;

pub use canvas::{Canvas, Title};
