//! The gpu pane: GPUs or the reason why there are none, what runs on them, and the machine beside
//! them.

mod detail;
pub mod draw;
pub mod history;
mod machine;
mod processes;
mod rows;
pub mod state;

pub use state::GpuState;
