//! Frames between the worker and process 1 of a sandbox.
//!
//! Each frame is a little-endian `u32` length and that many bytes of JSON, except that an output
//! frame's payload follows its JSON header raw. Process 1 ends, and with it everything in the
//! sandbox, when its input closes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One process to start inside: a rank, a build, a tool.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProcessSpec {
    /// Chosen by the caller; never used twice in a sandbox.
    pub id: u32,
    pub argv: Vec<String>,
    /// On top of the sandbox's environment.
    pub env: BTreeMap<String, String>,
    pub cwd: PathBuf,
    /// Bytes given on standard input, which is then closed; empty: `/dev/null`.
    pub stdin: Vec<u8>,
    /// Open a side channel (a pipe to us): its descriptor is in `INFRADEV_CHANNEL_FD`.
    pub channel: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Stream {
    Stdout,
    Stderr,
    /// The reporter's side channel; never cut by the output limit.
    Channel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProcessStatus {
    Exited(i32),
    Signaled(i32),
}

/// What the worker hears from a sandbox, in order per process.
#[derive(Clone, Debug, PartialEq)]
pub enum SandboxEvent {
    Started {
        id: u32,
    },
    Output {
        id: u32,
        stream: Stream,
        bytes: Vec<u8>,
    },
    /// The output limit was reached: from here on `stream` is counted and dropped.
    Truncated {
        id: u32,
        stream: Stream,
    },
    /// The process ended and all its streams are drained. `dropped_bytes`: output past the limit.
    Exited {
        id: u32,
        status: ProcessStatus,
        dropped_bytes: u64,
    },
    /// A limit of the sandbox was hit ("memory", "processes", "wall"); everything in it was killed.
    LimitHit {
        limit: String,
        detail: String,
    },
    /// Answer to a kill: processes that were alive and are gone now; none is left.
    Killed {
        processes: u32,
    },
    /// The sandbox ended; nothing of it is left. `reason` when that was not asked for.
    Closed {
        reason: Option<String>,
    },
}
