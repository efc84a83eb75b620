//! The local engine against the real machine: namespaces, limits, kills.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "engine/basics.rs"]
mod basics;
#[path = "engine/house.rs"]
mod house;
