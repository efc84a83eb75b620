//! Sandboxes: where the code of a submission runs.
//!
//! An engine starts a [`Sandbox`]: a place with its own processes, mounts and network, served by
//! our own process 1 inside it, which speaks the frames of [`protocol`] over one pair of streams.
//! Both engines share that protocol, so everything above sees one behaviour.
//!
//! - [`spec`], [`protocol`], [`frame`]: what is asked for, what is said, and its bytes
//! - [`sandbox`], [`driver`]: the handle that the worker holds, and the task behind it
//! - [`local`]: the engine on Linux namespaces
//! - [`docker`]: the engine on containers
//! - [`choice`]: either of them

pub mod choice;
pub(crate) mod deep;
pub mod docker;
mod driver;
pub mod error;
pub mod frame;
pub mod local;
mod ownership;
mod plan;
pub mod protocol;
pub mod sandbox;
pub mod spec;

pub use choice::Engine;
pub use error::EngineError;
pub use protocol::{
    Begin, Isolation, Loss, Message, ProcessSpec, ProcessStatus, Refusal, RefusalKind, Request,
    SandboxEvent, Stream, TerminalSize,
};
pub use sandbox::Sandbox;
pub use spec::{Access, Limits, Mount, Network, SandboxSpec, User};
