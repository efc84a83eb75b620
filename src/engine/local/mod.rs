//! The engine on Linux namespaces: containment, not a kernel boundary.
//!
//! ```text
//! worker ──frames── __sandbox ──► hakoniwa's process ──► process 1 (__init) ──► what is run
//!   (any uid)        drops root,    enters namespaces,     no capabilities,
//!                    stages mounts  builds the root        same eyes as what it runs
//! ```
//!
//! - [`start`]: the worker's side, down to a [`Sandbox`](super::Sandbox)
//! - [`supervisor`], [`stage`], [`root`], [`harden`]: `infradev __sandbox`, single-threaded
//! - [`init`], [`process`], [`terminal`], [`watch`], [`tree`], [`outbox`], [`filter`]: `infradev __init`,
//!   process 1
//! - [`probe`]: what this machine allows, for the doctor
//! - [`sys`]: the only unsafe code of the crate

mod filter;
mod harden;
mod inbox;
mod init;
mod kernel_kills;
mod outbox;
mod probe;
mod process;
mod processors;
mod root;
mod stage;
mod start;
mod supervisor;
mod sys;
mod terminal;
mod tree;
mod watch;

pub use init::init_main;
pub use probe::{LocalSupport, probe};
pub use start::LocalOptions;
pub use supervisor::supervisor_main;

/// The user and group that a sandbox has on the machine when the worker is root.
pub(crate) const OUTER_ID: u32 = 65534;
/// The user and group that it sees inside; not root, so that a program start drops all
/// capabilities.
pub(crate) const INNER_ID: u32 = 1000;
/// Where our own binary is visible inside.
pub(crate) const INIT_PATH: &str = "/infradev/init";
