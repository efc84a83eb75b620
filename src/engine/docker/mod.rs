//! The engine on containers, through the Docker API (Docker, or podman's service of the same).
//!
//! ```text
//! worker ──frames── attached streams ──► process 1 (__init) ──► what is run
//!                   daemon                in a container of the task's image
//! ```
//!
//! A container's process 1 is our own binary, mounted in; it speaks the same frames over its
//! standard streams as in a local sandbox. When the worker's end of the attached stream closes,
//! whatever the reason, its standard input ends and everything in the container with it.
//!
//! - [`find`], [`unavailable`]: which daemon, or why none
//! - [`connect`], [`owner`], [`image`]: what is known of a daemon, of ourselves, of an image
//! - [`start`], [`body`], [`mounts`], [`streams`]: a sandbox in a container
//! - [`container`], [`by_hand`]: its end, and who brought it about; the same without a daemon
//! - [`held`]: which ones are looked after
//! - [`reap`]: what dead workers left
//! - [`import`], [`base`], [`debootstrap`]: the base image, made from Debian packages

mod base;
mod body;
mod by_hand;
mod call;
mod connect;
mod container;
mod debootstrap;
mod find;
mod held;
mod image;
mod import;
mod mounts;
mod owner;
mod reap;
mod start;
mod streams;
mod unavailable;

pub use connect::{Daemon, Docker};
pub use find::{ASK_LIMIT, Api, Found, ask, find, places};
pub use held::all_gone;
pub use image::Image;
pub use import::{ImportError, ImportOptions, Progress};
pub use owner::Owner;
pub use reap::Leftover;
pub use unavailable::DockerUnavailable;

/// The base image without CUDA; `infradev image import` makes it.
pub const CPU_IMAGE: &str = "infradev/base:cpu";
/// The base image with CUDA; its Dockerfile makes it where a registry can be reached.
pub const CUDA_IMAGE: &str = "infradev/base:cuda";
