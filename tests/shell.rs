//! `infradev shell` on both engines: the real program, bundled tasks, a real terminal.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

#[path = "shell/command.rs"]
mod command;
#[path = "shell/ends.rs"]
mod ends;
#[path = "shell/house.rs"]
mod house;
#[path = "shell/person.rs"]
mod person;
#[path = "shell/ranks.rs"]
mod ranks;
