//! Coding agents: what they leave behind, read into one model.

pub mod trace;
