//! What the worker and process 1 of a sandbox say to each other.
//!
//! A frame ([`super::frame`]) is a JSON header and raw bytes: [`Request`]s go in (a spawn's bytes
//! are its standard input), [`Message`]s come out (an output's bytes are the output). Process 1
//! ends, and with it everything in the sandbox, when its input closes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Limits;

/// How far a sandbox keeps what runs in it from the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Its own user, mount, process, network, ipc and host name spaces.
    Namespaces,
    /// None: this machine refuses namespaces and the caller allowed to go on; the badge
    /// `unisolated`. Limits and the kill of the whole tree still hold; mounts, network and the
    /// hiding of files do not.
    None,
}

/// From the worker to process 1.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// The first: process 1 answers [`Message::Ready`]. The wall limit counts from here.
    Begin(Begin),
    /// The frame's payload is the process's standard input; `stdin` travels empty.
    Spawn(ProcessSpec),
    /// The same with a terminal of its own for all three streams; what it writes is its standard
    /// output, which is never cut. The frame has no payload.
    SpawnOnTerminal(ProcessSpec, TerminalSize),
    /// The frame's payload is typed on the process's terminal.
    Typed {
        id: u32,
    },
    Resize {
        id: u32,
        size: TerminalSize,
    },
    KillAll,
}

/// What process 1 has to know before it starts anything.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Begin {
    pub env: BTreeMap<String, String>,
    pub limits: Limits,
    pub isolation: Isolation,
    /// More threads than this user already has elsewhere must fit under the kernel's per-user
    /// count where that count is not kept per sandbox (Linux before 5.14).
    pub foreign_threads: u64,
    /// The kernel bounds this sandbox's memory as well, a little above the limit, and may kill before
    /// the watcher speaks.
    pub memory_group: bool,
}

/// From process 1 (or, before there is one, from what sets it up) to the worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    Ready,
    /// The sandbox could not be set up; the last message.
    Refused(Refusal),
    Started {
        id: u32,
    },
    NotStarted {
        id: u32,
        message: String,
    },
    /// The frame's payload is the output.
    Output {
        id: u32,
        stream: Stream,
    },
    Truncated {
        id: u32,
        stream: Stream,
    },
    Exited {
        id: u32,
        status: ProcessStatus,
        dropped_bytes: u64,
    },
    LimitHit {
        limit: String,
        detail: String,
    },
    Killed {
        processes: u32,
    },
    /// Process 1 gives up, for this reason; the last message.
    Ending {
        reason: String,
    },
}

/// Why a sandbox could not be set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub kind: RefusalKind,
    /// The step that was refused, with its object.
    pub step: String,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// The kernel or its policy refuses a namespace, or a mount inside one.
    Namespaces,
    /// What the caller asked to mount is not there, or cannot be put there.
    Mount,
    Other,
}

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

/// In characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalSize {
    pub rows: u16,
    pub columns: u16,
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
    /// The process could not be started (no such program, no such folder): nothing more follows
    /// for this id.
    NotStarted {
        id: u32,
        message: String,
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
    /// A limit of the sandbox was hit ("memory", "processes", "wall"; "sandbox": the limits could
    /// not be watched any more); everything in it was killed.
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
        reason: Option<Loss>,
    },
}

/// Why a sandbox ended that was not asked to, and so who answers for it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    /// Seen from outside: somebody removed or killed it, its daemon went away, the machine ran out of
    /// something. Never the doing of what ran in it.
    #[error("{0}")]
    Machine(String),
    /// Everything else: process 1 was blinded, starved or ended, and only what ran in the sandbox
    /// was there to do that.
    #[error("{0}")]
    Inside(String),
}

impl Loss {
    /// For a message.
    pub fn told(reason: Option<Self>) -> String {
        reason.map_or_else(|| "without a reason".into(), |loss| loss.to_string())
    }
}
