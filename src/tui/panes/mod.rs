//! The panes: each a state, and a way to draw it. What keys do to them is in
//! [`super::update`].

pub mod acceptance;
pub mod cases;
pub mod cell;
pub mod claims;
pub mod diff;
pub mod gpu;
pub mod log;
pub mod tasks;
pub mod words;
