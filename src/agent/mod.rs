//! Coding agents: how one is started and reaches its model, what replays one, and what it leaves
//! behind.
//!
//! - [`adapter`]: how one is installed, started and told
//! - [`proxy`], [`relay`]: the way to the hosts on its list, outside and inside its sandbox
//! - [`replay`]: a recorded run, played again
//! - [`trace`]: its log, read into one model

pub mod adapter;
mod hello;
mod hosts;
pub mod proxy;
pub mod relay;
pub mod replay;
pub mod trace;

pub use hosts::{HostRule, Hosts};
