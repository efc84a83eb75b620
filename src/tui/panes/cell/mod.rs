//! The cell under the matrix' cursor: its cases, why each ended as it did, the probe's source
//! beside the traceback.

pub mod draw;
pub mod source;
pub mod state;

pub use state::CellState;
