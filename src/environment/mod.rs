//! Environments that tasks share (METHOD.md section 8): found or built once, then only mounted.
//!
//! `uv`: locked requirements in a virtual environment keyed by a hash of the lock, the interpreter
//! and the platform, its packages hard-linked from one cache of the home, and what is made of them
//! (bytecode) hard-linked among environments. `host`: an interpreter of
//! this machine, `image`: that of an image, both recorded by their package lists. What is shared is
//! immutable to a task: it is sealed when it is built, and mounted read-only.
//!
//! [`keep`] looks after what a home has of them.
//!
//! An environment is for the sandboxes of one engine: built here with an interpreter of this
//! machine, or in a container of an image with that image's ([`Builder`]).
//!
//! [`prepare()`] blocks: call it from a thread that may. Where the environment exists it starts no
//! process and no container.

mod beside;
mod certificates;
mod client;
mod command;
mod compile;
mod data;
mod distributions;
mod error;
mod host;
mod identity;
mod image;
mod inside;
mod interpreter;
mod interpreter_cache;
pub mod keep;
mod lines;
mod lock;
mod mounts;
mod pool;
mod prepare;
mod project;
mod requirements;
mod rooms;
mod seal;
mod tool;
mod types;
mod uv;
mod uv_build;
mod workshop;

pub use beside::{Beside, beside, packages_below};
pub use certificates::public_certificates;
pub use compile::{Compiled, compile};
pub use error::EnvironmentError;
pub use identity::FORMAT;
pub use interpreter::{Facts, Package, candidates, facts_of, find};
pub use lock::Hold;
pub use prepare::prepare;
pub use project::{Held, Project};
pub use seal::{Change, links_work, remove_tree, verify};
pub use tool::find_on_path as find_uv;
pub use types::{Builder, Environment, LinkMode, Progress, Request, Step};
