//! Agents: how a command-line agent is installed, started and read (`agents/<name>.toml`), and
//! what a run asks of one.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::submission::LogFormat;

/// `agents/<name>.toml`. In `command`, `install` and `env`'s values these words are replaced:
/// `{prompt}` the prompt's text, `{prompt_file}` a file with it, `{workspace}` the repository,
/// `{home}` the agent's home folder, `{out}` a folder of its own for what it writes beside its
/// stream, `{install}` where it is installed, `{model}` the model that was asked for, `{effort}` the
/// reasoning effort that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentSpec {
    pub schema: u32,
    /// The file's name.
    pub name: String,
    #[serde(default)]
    pub summary: String,
    /// Its version, as a configuration's record names it.
    #[serde(default)]
    pub version: Option<String>,
    /// What its stream (or trajectory) is.
    pub format: LogFormat,
    /// The program and its arguments, started in `{workspace}` with nothing on standard input.
    pub command: Vec<String>,
    /// A file below `{out}` that is the log, rewritten as it goes, instead of standard output.
    #[serde(default)]
    pub trajectory: Option<String>,
    /// The model where none is asked for.
    #[serde(default)]
    pub model: Option<String>,
    /// The arguments that set an effort. They stand where `{effort}` is an argument of `command`
    /// by itself, and nowhere where no effort is asked for.
    #[serde(default)]
    pub effort: Vec<String>,
    #[serde(default)]
    pub install: Option<InstallSpec>,
    #[serde(default)]
    pub env: AgentEnv,
    #[serde(default)]
    pub network: NetworkSpec,
    #[serde(default)]
    pub limits: AgentLimits,
}

/// How an agent gets onto the machine; it is installed once for each content of this.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InstallSpec {
    /// Locked Python requirements with hashes, beside the adapter: they become a shared environment
    /// of their own, whose folder is `{install}`.
    pub requirements: Option<String>,
    /// The Python version for `requirements` ("3.12").
    pub python: Option<String>,
    /// A shell script that installs into `{install}`, with network and nothing of any task.
    pub script: Option<String>,
}

impl AgentSpec {
    /// Whether an effort that is asked for reaches it.
    pub fn takes_effort(&self) -> bool {
        !self.effort.is_empty() || self.env.set.values().any(|v| v.contains("{effort}"))
    }
}

/// Environment variables of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentEnv {
    /// Passed by name from whoever starts the run; their values are written nowhere. One that is
    /// not set is an error before anything starts, unless it ends with `?`.
    pub pass: Vec<String>,
    pub set: BTreeMap<String, String>,
}

#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkMode {
    /// Loopback and nothing else.
    None,
    /// Only the hosts that are named, through a proxy of ours.
    #[default]
    AllowList,
    /// The machine's own network: the badge `could-read-upstream`.
    Open,
}

impl NetworkMode {
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::AllowList => "allow-list",
            Self::Open => "open",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkSpec {
    pub mode: NetworkMode,
    /// Hosts that an allow-list lets through: `api.example.com` (port 443), `host:port`, or
    /// `*.example.com`. `${NAME}` is the host of the address in that variable.
    pub hosts: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentLimits {
    /// What is kept of its log; the rest is counted and dropped.
    pub log_mib: u64,
    pub memory_mib: u64,
    pub processes: u64,
    /// What it may write into its work tree and its home.
    pub disk_mib: u64,
    /// Processors at once; absent: all that there are. On the local engine a program may ask for
    /// others again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<NonZeroU32>,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self {
            log_mib: 1024,
            memory_mib: 16384,
            processes: 4096,
            disk_mib: 51200,
            cpus: None,
        }
    }
}

/// What a run asks of its agent; the adapter itself is kept beside it, in `agent.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentOrder {
    /// Wall seconds.
    pub limit_s: f64,
    /// The prompt's variant (METHOD.md section 4); `full`: the task's own `prompt.md`.
    pub prompt: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Reasoning effort and skill, as a configuration's record names them (METHOD.md section 1).
    /// The adapter tells the agent its effort; what it is told of a skill stands in its prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// The network where another is wanted than the adapter's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkMode>,
    /// What `replay` replays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
}

/// A recorded run: its log, when its lines came, and what it changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    pub log: PathBuf,
    pub format: LogFormat,
    /// Arrival times of the log's pieces, where they were recorded (`agent.times`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<PathBuf>,
    /// Absent: it changed nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<PathBuf>,
    /// Lines a second instead of the recorded times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
}

/// How an agent's time ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum AgentEnd {
    Exited {
        code: i32,
    },
    Signaled {
        signal: i32,
    },
    /// The wall limit: what was there is captured and graded (badge `limit`).
    Limit,
    /// Another limit (memory, processes, disk; `sandbox`: its limits could not be watched any more):
    /// captured and graded too.
    Killed {
        limit: String,
        detail: String,
    },
}

impl AgentEnd {
    /// A limit ended it, and no decision of its own.
    pub fn cut_short(&self) -> bool {
        matches!(self, Self::Limit | Self::Killed { .. })
    }

    /// As lists and logs say it.
    pub fn words(&self) -> String {
        match self {
            Self::Exited { code } => format!("exited with {code}"),
            Self::Signaled { signal } => format!("ended by signal {signal}"),
            Self::Limit => "stopped at its time limit".into(),
            Self::Killed { limit, detail } => format!("stopped at its {limit} limit: {detail}"),
        }
    }
}

/// The kind of a [`CaptureNote`] that changes the badges.
pub const HOSTED_SEARCH: &str = "hosted-search";

/// The kind of a [`CaptureNote`] on an agent that did not end of its own will: its service or its
/// harness failed it. What it left is graded, and a score says of how many runs that holds.
pub const ENDED_IN_ERROR: &str = "ended-in-error";

/// Something of the work tree that is no part of the patch, or is told beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureNote {
    pub path: String,
    /// `ignored` (by the project's own rules), `cache` (a build product or cache, by ours),
    /// `large` (beyond what a patch here holds), `outward-link` (a symlink that leads out of the tree;
    /// `detail` has its target), `odd` (a socket, a pipe, a device, a name that no tree may hold); all
    /// these are no part of the patch. Told beside it: `nested-repository`, `stash`, `commits`; of
    /// the log, [`HOSTED_SEARCH`] (the model's host searched the web, past the list of hosts) and
    /// [`ENDED_IN_ERROR`] (`detail`: its last error).
    pub kind: String,
    pub detail: String,
}
