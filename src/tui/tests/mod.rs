//! The workbench as a whole, without a terminal.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod anything;
mod keys;
mod screens;
