//! Properties and examples of the figures.

#![allow(clippy::unwrap_used)]

mod examples;
mod properties;
mod rolled;
