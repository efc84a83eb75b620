//! Sandboxes: where the code of a submission runs.
//!
//! An engine starts a [`Sandbox`]: a place with its own processes, mounts and network, served by
//! our own process 1 inside it, which speaks the frames of [`protocol`] over one pair of streams.
//! Both engines share that protocol, so everything above sees one behaviour.

pub mod protocol;
pub mod spec;

pub use protocol::{ProcessSpec, ProcessStatus, SandboxEvent, Stream};
pub use spec::{Access, Limits, Mount, Network, SandboxSpec};
