//! The workbench as a whole, without a terminal.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod agents;
mod anything;
mod author;
mod cases;
mod chooser;
mod custom;
mod diff;
mod engines;
mod gpus;
mod keys;
mod log;
mod log_scans;
mod log_times;
mod mouse;
mod palette;
mod pictures;
mod screens;
mod tree;
