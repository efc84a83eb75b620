//! Agents as they are started: adapters, what is passed to them, and what is kept from their logs.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod adapters;
mod redaction;
