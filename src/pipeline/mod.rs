//! The stages of a run, and the worker that runs them.

pub mod suite;
