//! How a worker starts: a detached process on this machine. (A scheduler would start the same
//! command on another node, with the shared file system underneath.)

mod agent;
mod local;
mod order;
mod prompt;

pub use agent::{AgentLaunch, AgentLaunchError, AgentWish, REPLAY, agent_launch};
pub use local::{LaunchError, start_worker};
pub use order::{Order, OrderError, start};
pub use prompt::{FULL, Prompt, PromptError, contract_of, prompt, variants};
