//! How a worker starts: a detached process on this machine. (A scheduler would start the same
//! command on another node, with the shared file system underneath.)

mod agent;
mod local;
mod order;

pub use agent::{AgentLaunch, AgentLaunchError, AgentWish, FULL, REPLAY, agent_launch, variants};
pub use local::{LaunchError, start_worker};
pub use order::{Order, OrderError, start};
