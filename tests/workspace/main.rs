//! Work trees on disk: snapshots, applying patches (with the git command line as the oracle: real
//! trees, real `git diff`), suites put in, configuration restored.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod bench;
mod capture;
mod captured_links;
mod captured_rules;
mod difference;
mod kit;
mod matrix;
mod random;
mod refused;
mod repository;
mod restore;
mod snapshots;
mod suites;
