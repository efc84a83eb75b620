//! Coding agents: how one is started ([`adapter`]) and what it leaves behind, read into one model
//! ([`trace`]).

pub mod adapter;
mod hosts;
pub mod trace;

pub use hosts::{HostRule, Hosts};
