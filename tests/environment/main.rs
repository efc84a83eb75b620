//! Environments for real: built with uv from a package index, killed, raced, cut off.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_imports)]

mod audit;
mod build;
mod commands;
mod data;
mod faults;
mod image;
mod image_faults;
mod image_support;
mod keep;
mod keep_support;
mod kinds;
mod pool;
mod sandbox;
mod support;
