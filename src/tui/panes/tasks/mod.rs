//! The tasks pane: tasks, their submissions (gold and base among them), the runs of these.

pub mod agent;
pub mod bulk;
pub mod details;
pub mod draw;
pub mod filter;
pub mod order;
pub mod state;
pub mod status;

pub use state::TasksState;
