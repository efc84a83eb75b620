//! The documents of `infradev env … --json`, version 1. Sizes are bytes on disk (allocated blocks,
//! folders included), each inode once, unless a field says otherwise; times are seconds.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::environment::LinkMode;

/// `infradev env list`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EnvironmentsDocument {
    pub schema: u32,
    /// By hash.
    pub environments: Vec<EnvironmentRow>,
    /// Tasks of which nobody can tell which environment they want, with the reason.
    pub notes: Vec<String>,
}

/// What an environment is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EnvironmentState {
    Ready,
    /// Being built just now.
    Building,
    /// Left by a build that was killed; the next build of it starts over.
    Unfinished,
    /// Built at another path, by another version, or for an interpreter that is gone: no run uses
    /// it.
    Stale,
}

impl EnvironmentState {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Building => "building",
            Self::Unfinished => "unfinished",
            Self::Stale => "stale",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EnvironmentRow {
    pub hash: String,
    pub state: EnvironmentState,
    /// Version of its interpreter; this and what follows is absent while it is unfinished.
    pub python: Option<String>,
    pub link: Option<LinkMode>,
    /// As `name==version`, by name.
    pub packages: Vec<String>,
    pub files: Option<u64>,
    /// Sum of the files' sizes.
    pub bytes: Option<u64>,
    /// Of these, in files that the cache or another environment held as well when it was built.
    pub shared_bytes: Option<u64>,
    /// Wall time of its build.
    pub build_s: Option<f64>,
    /// Tasks of the catalog that would use it on this machine now.
    pub tasks: Vec<String>,
    /// When a run was last given it, in Unix time.
    pub last_used_s: Option<f64>,
    /// A live run holds it.
    pub in_use: bool,
}

/// `infradev env check`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EnvironmentsChecked {
    pub schema: u32,
    pub ok: bool,
    pub environments: Vec<CheckedEnvironment>,
    /// What was discarded (`--discard`); empty otherwise.
    pub discarded: Vec<CollectedItem>,
    /// What could not be, with the reason.
    pub kept: Vec<Kept>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CheckedEnvironment {
    pub hash: String,
    pub ok: bool,
    /// Over the manifest, as it was recorded when the environment was sealed.
    pub tree_sha256: String,
    /// Files and links of the manifest.
    pub files: u64,
    pub findings: Vec<Finding>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// The manifest is not the one that was sealed.
    Manifest,
    Added,
    Removed,
    Modified,
    /// Has a write bit again: somebody changed it, perhaps through another link.
    Writable,
    /// Has a link that is not in the cache, the pool or an environment of this home: whoever has
    /// that link can change it.
    ForeignLink,
}

impl FindingKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Manifest => "manifest changed",
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Modified => "modified",
            Self::Writable => "writable",
            Self::ForeignLink => "linked from elsewhere",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    pub kind: FindingKind,
    /// Below the environment's folder.
    pub path: PathBuf,
    /// Other environments that hold the same inode: what is wrong with it is wrong there as well.
    pub shared_with: Vec<String>,
    /// Where the cache holds it, below the cache's folder: later environments would get it, too.
    pub cached: Vec<PathBuf>,
    /// Where the pool of equal files holds it, below the pool's folder (`cache/files`).
    pub pooled: Vec<PathBuf>,
    /// Links that the file has, and those that are in this home; absent for a file that is gone.
    pub links: Option<u64>,
    pub known_links: Option<u64>,
    pub inode: Option<u64>,
}

/// `infradev env gc`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Collected {
    pub schema: u32,
    /// Nothing was removed, only looked for.
    pub dry_run: bool,
    pub days: u32,
    pub removed: Vec<CollectedItem>,
    /// Environments that stay, each with the reason.
    pub kept: Vec<Kept>,
    /// What the disk gets back: inodes of which the last link went.
    pub freed_bytes: u64,
    /// What was not looked at, and why.
    pub notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CollectedKind {
    Environment,
    /// Of a build that was killed.
    Unfinished,
    Temporary,
    /// Of uv's cache.
    Cache,
    /// Of the pool of equal files: no name that an environment links.
    Pool,
}

impl CollectedKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Environment => "environment",
            Self::Unfinished => "unfinished",
            Self::Temporary => "temporary",
            Self::Cache => "cache",
            Self::Pool => "pool",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CollectedItem {
    pub kind: CollectedKind,
    /// Below the home.
    pub path: PathBuf,
    /// All of it, whether or not others hold some of it as well.
    pub bytes: u64,
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Kept {
    pub hash: String,
    pub why: String,
}

/// `infradev env usage`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UsageDocument {
    pub schema: u32,
    pub home: PathBuf,
    pub environments: Vec<UsageRow>,
    /// All environments together.
    pub environments_bytes: u64,
    /// What uv's cache and the pool of equal files hold and no environment links.
    pub cache_bytes: u64,
    /// `environments_bytes` and `cache_bytes`.
    pub total_bytes: u64,
    /// What the environments would take as copies, with no cache beside them.
    pub copies_bytes: u64,
    /// `copies_bytes` less `total_bytes`; negative where the cache costs more than sharing saves.
    pub saved_bytes: i64,
    /// Weights and data sets (links to other disks are not followed).
    pub data_bytes: u64,
    /// uv itself.
    pub tools_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UsageRow {
    pub hash: String,
    /// All that it holds.
    pub bytes: u64,
    /// Of these, what neither uv's cache nor another environment holds.
    pub own_bytes: u64,
}
