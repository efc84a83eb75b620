//! Scores of stores that the real writer wrote, through the path that the command takes: the
//! source's published figures, and a second scorer that agrees on disturbed stores.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod command;
mod disturbed;
mod published;
mod store;
mod writer;
