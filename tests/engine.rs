//! Both engines against the real machine: namespaces, containers, limits, kills. Each test is
//! bounded by the patience of what it waits for.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

#[path = "engine/basics.rs"]
mod basics;
#[path = "engine/containers.rs"]
mod containers;
#[path = "engine/dockerd.rs"]
mod dockerd;
#[path = "engine/faults.rs"]
mod faults;
#[path = "engine/house.rs"]
mod house;
#[path = "engine/kills.rs"]
mod kills;
#[path = "engine/limits.rs"]
mod limits;
#[path = "engine/mounts.rs"]
mod mounts;
#[path = "engine/seen.rs"]
mod seen;
#[path = "engine/streams.rs"]
mod streams;
#[path = "engine/terminal.rs"]
mod terminal;
#[path = "engine/users.rs"]
mod users;
#[path = "engine/walls.rs"]
mod walls;
