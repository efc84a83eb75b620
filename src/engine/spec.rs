//! What a sandbox is asked to be.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// One sandbox: mounts, limits, network. Nothing else of the machine is visible inside.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SandboxSpec {
    /// Run id and purpose, for lists and for reaping.
    pub label: String,
    /// Host folders and files that are visible inside.
    pub mounts: Vec<Mount>,
    /// Environment of every process; nothing of the worker's own environment passes.
    pub env: BTreeMap<String, String>,
    pub limits: Limits,
    pub network: Network,
    /// Device nodes bound in (leased GPUs), on the local engine.
    pub devices: Vec<PathBuf>,
    /// What the root file system is made of, on the docker engine, which needs it: an image's name
    /// or id. The local engine's is the machine's own.
    pub image: Option<String>,
    /// GPUs by UUID, on the docker engine, whose daemon finds their devices and libraries.
    pub gpus: Vec<String>,
    pub user: User,
}

/// Who runs in a sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum User {
    /// Somebody without rights over anything of the worker's: for code that nobody vouches for.
    #[default]
    Nobody,
    /// The worker's own user, without capabilities: what it writes is the worker's from the first
    /// moment on, and nothing is lent. On the docker engine; the local one refuses.
    Worker,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    pub source: PathBuf,
    pub target: PathBuf,
    pub access: Access,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Access {
    ReadOnly,
    /// Writable by the sandbox's user; for [`User::Nobody`] the engine sees to ownership, and gives
    /// it back at the end, so a tree belongs to one sandbox at a time.
    ReadWrite,
}

/// Enforced from outside the processes they bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// The whole sandbox's life.
    pub wall: Duration,
    /// Resident memory of all processes together, shared pages and scratch counted once.
    pub memory_bytes: u64,
    /// Processes and threads at once.
    pub processes: u64,
    /// Largest single file written.
    pub file_bytes: u64,
    /// Standard output plus standard error kept per process; the rest is counted and dropped.
    pub output_bytes: u64,
    /// `/tmp` (private, in memory).
    pub scratch_bytes: u64,
    /// `/dev/shm`.
    pub shm_bytes: u64,
    /// Processors at once, for all that runs in it; absent: all that there are. A wall on the docker
    /// engine; on the local one a share, which a program may leave that asks for others.
    pub cpus: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    /// Loopback only.
    Loopback,
    /// The host's network (environment builds that need package registries).
    Host,
}
