//! On a node with NVIDIA GPUs, a python3 that has PyTorch and pytest, and nothing else needed:
//! `cargo test --test gpu_node -- --ignored one_gpu` (or `two_gpus`). Real devices, real sandboxes.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../common/mod.rs"]
mod common;
mod node;
mod one_gpu;
mod two_gpus;
