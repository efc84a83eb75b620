//! Suites end to end: a real interpreter with pytest, in the real local engine.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "suite/collection.rs"]
mod collection;
mod common;
#[path = "suite/compared.rs"]
mod compared;
#[path = "suite/edits.rs"]
mod edits;
#[path = "suite/endings.rs"]
mod endings;
#[path = "suite/house.rs"]
mod house;
#[path = "suite/outcomes.rs"]
mod outcomes;
#[path = "suite/plain.rs"]
mod plain;
#[path = "suite/ranks.rs"]
mod ranks;
#[path = "suite/tampering.rs"]
mod tampering;
#[path = "suite/twins.rs"]
mod twins;
#[path = "suite/watch.rs"]
mod watch;
