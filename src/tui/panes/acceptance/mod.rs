//! The acceptance matrix: patches down, probe functions across, what each row comes to.

pub mod draw;
pub mod geometry;
pub mod head;
pub mod row;
pub mod state;

pub use state::AcceptanceState;
