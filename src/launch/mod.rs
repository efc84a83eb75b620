//! How a worker starts: a detached process on this machine. (A scheduler would start the same
//! command on another node, with the shared file system underneath.)

mod local;
mod order;

pub use local::{LaunchError, start_worker};
pub use order::{AgentLaunch, Order, OrderError, start};
