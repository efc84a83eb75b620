//! Environments for real: built with uv from a package index, killed, raced, cut off.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_imports)]

mod build;
mod faults;
mod kinds;
mod sandbox;
mod support;
