//! The five panes: each a state, and a way to draw it. What keys do to them is in
//! [`super::update`].

pub mod cases;
pub mod diff;
pub mod gpu;
pub mod log;
pub mod tasks;
pub mod words;
