//! The workbench as a whole, without a terminal.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod agents;
mod anything;
mod chooser;
mod keys;
mod screens;
