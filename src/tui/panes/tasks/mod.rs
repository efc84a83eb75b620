//! The tasks pane: tasks, their submissions (gold and base among them), the runs of these.

pub mod agent;
pub mod details;
pub mod draw;
pub mod state;

pub use state::TasksState;
