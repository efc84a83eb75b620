//! What the GPUs and the machine are doing, and who may use which GPU.
//!
//! A sampler owns the hardware: one thread asks NVML through a [`Source`], one reads `/proc`; both
//! publish whole [`Snapshot`]s, so that a reader never waits for a device. A value that is not
//! known is a [`Reading`] that says why, never 0. Leases are files by GPU UUID in one node-wide
//! folder (DESIGN.md, Engines).

mod attribution;
mod clocks;
mod document;
mod equip;
mod here;
mod hold;
mod host;
mod leased;
mod leases;
mod nvml;
mod nvml_parts;
mod proc;
mod reading;
mod sampler;
mod scripted;
mod snapshot;
mod source;
mod users;
mod workers;

pub use document::{GpuDocument, once};
pub use equip::{Equipment, equip};
pub use here::here;
pub use hold::{Held, HeldGpu, HoldError, Left, Wanted, could_hold, hold};
pub use leased::GpuLease;
pub use leases::{Holder, Lease, LeaseError, LeaseState, Leases};
pub use nvml::NvmlSource;
pub use reading::Reading;
pub use sampler::{Sampler, Settings};
pub use scripted::{Script, ScriptedSource};
pub use snapshot::{
    Disk, Gpu, GpuProcess, HostLoad, HostProcess, Mig, NvLink, Pcie, PcieLink, ProcessKind,
    Snapshot, WorkerProcess,
};
pub use source::{Fixed, Identity, Lane, Missing, RawProcess, Readings, Source, Unavailable, Why};
pub use users::{Use, UseKind, short_run};
