//! The gpu pane: GPUs or the reason why there are none, and the machine beside them.

pub mod draw;
mod rows;
pub mod state;

pub use state::GpuState;
