//! Applying patches, with the git command line as the oracle: real trees, real `git diff`.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod kit;
mod matrix;
mod random;
mod refused;
