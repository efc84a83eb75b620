//! Sampling on scripted hardware (what cannot be had) and on this machine; leases between real
//! processes.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod driver;
#[path = "../fake_driver/driver.rs"]
mod fake;
mod hold;
mod leases;
mod sampler;
