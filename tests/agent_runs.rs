//! Agents that really run: in a sandbox of either engine, captured and graded by the real program.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod agent_runs {
    pub mod blind;
    pub mod faults;
    pub mod house;
    pub mod leaks;
    pub mod mini;
    pub mod nasty;
    pub mod plain;
    pub mod restart;
    pub mod taken_up;
}
mod common;
