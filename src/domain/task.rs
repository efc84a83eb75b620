//! A task: one real merged change to be reimplemented (METHOD.md section 1). The shape of
//! `task.toml`, version 1; its JSON schema is `assets/schema/task.json`.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use super::claims::{
    Adversarial, AllowedConstant, Alternative, Claim, ClaimKind, ContractSpec, DroppedVariant,
    Equivalent, Guard, Oracle,
};
use super::{Submission, Suite};

/// `task.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskSpec {
    /// Version of this shape: 1.
    pub schema: u32,
    /// The folder's name.
    pub id: String,
    pub title: String,
    pub area: Area,
    pub kind: Kind,
    pub repository: String,
    #[serde(default)]
    pub summary: String,
    pub source: SourceSpec,
    pub gold: GoldSpec,
    pub environment: EnvironmentSpec,
    #[serde(default)]
    pub hardware: HardwareSpec,
    #[serde(default)]
    pub limits: LimitsSpec,
    #[serde(default)]
    pub build: Option<BuildSpec>,
    pub suites: SuitesSpec,
    #[serde(default)]
    pub claims: Vec<Claim>,
    #[serde(default, skip_serializing_if = "ContractSpec::is_empty")]
    pub contract: ContractSpec,
    #[serde(default)]
    pub guards: Vec<Guard>,
    #[serde(default)]
    pub adversarial: Vec<Adversarial>,
    #[serde(default)]
    pub alternative: Vec<Alternative>,
    /// Adversarial variants that were tried and are not kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<DroppedVariant>,
    /// Mutants of gold that no test can tell from it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub equivalent: Vec<Equivalent>,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Area {
    Training,
    Rl,
    Inference,
}

impl Area {
    pub fn name(self) -> &'static str {
        match self {
            Area::Training => "training",
            Area::Rl => "rl",
            Area::Inference => "inference",
        }
    }
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Feature,
    Performance,
    Refactor,
    Bugfix,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Feature => "feature",
            Kind::Performance => "performance",
            Kind::Refactor => "refactor",
            Kind::Bugfix => "bugfix",
        }
    }
}

/// Where base comes from: a folder here, or commits of a repository.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceSpec {
    /// A folder beside `task.toml`.
    #[serde(default)]
    pub base: Option<String>,
    /// A repository: a path on this machine, or a URL (https://, ssh://, git@host:owner/name) of
    /// which a mirror is looked for on this machine; nothing is fetched.
    #[serde(default)]
    pub git: Option<String>,
    /// The full commit id of base in that repository.
    #[serde(default)]
    pub base_commit: Option<String>,
    /// Only these folders and files of the repository; empty: all.
    #[serde(default)]
    pub only: Vec<String>,
}

/// The reference solution: a patch here, or a commit of the source's repository.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoldSpec {
    #[serde(default)]
    pub patch: Option<String>,
    /// The merged commit; gold is the difference from base outside the suites' folders.
    #[serde(default)]
    pub commit: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EnvironmentKind {
    /// Locked requirements in a shared virtual environment, keyed by hash.
    Uv,
    /// An interpreter that exists on this machine, recorded by its package list.
    Host,
    /// An image of a container engine.
    Image,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentSpec {
    pub kind: EnvironmentKind,
    /// `uv`: the locked requirements, with hashes.
    #[serde(default)]
    pub requirements: Option<String>,
    /// `uv`: a version to look for ("3.12"); `host`: the interpreter (default `python3`).
    #[serde(default)]
    pub python: Option<String>,
    #[serde(default)]
    pub image: Option<String>,
    /// Put on the module path, relative to the work tree.
    #[serde(default = "here")]
    pub pythonpath: Vec<String>,
    /// Set for build and tests.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Weights and data sets in the home's `cache/data`, by name; `/data/<name>` in a sandbox,
    /// read-only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<String>,
}

impl Default for EnvironmentSpec {
    /// Kind `uv`, with the work tree on the module path.
    fn default() -> Self {
        Self {
            kind: EnvironmentKind::Uv,
            requirements: None,
            python: None,
            image: None,
            pythonpath: here(),
            env: BTreeMap::new(),
            data: Vec::new(),
        }
    }
}

fn here() -> Vec<String> {
    vec![".".into()]
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HardwareSpec {
    pub gpus: u32,
    pub gpu_type: Option<String>,
}

/// Limits of the whole task; a suite's own are in [`SuiteSpec`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsSpec {
    /// Agent time (METHOD.md section 1: 2.5 h unless said otherwise).
    pub agent_minutes: u32,
    pub memory_mib: u64,
    pub processes: u64,
    /// Largest file a test may write.
    pub file_mib: u64,
    /// Output kept of one process; the rest is counted and dropped.
    pub output_mib: u64,
    pub scratch_mib: u64,
    pub shm_mib: u64,
    /// Processors at once, for all ranks together; absent: all that there are. On the local engine a
    /// program may ask for others again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<NonZeroU32>,
}

impl Default for LimitsSpec {
    fn default() -> Self {
        Self {
            agent_minutes: 150,
            memory_mib: 8192,
            processes: 512,
            file_mib: 1024,
            output_mib: 16,
            scratch_mib: 1024,
            shm_mib: 512,
            cpus: None,
        }
    }
}

/// The project's build step; runs after apply, on the submission's own sources.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BuildSpec {
    pub command: Vec<String>,
    #[serde(default = "ten_minutes")]
    pub limit_s: f64,
}

fn ten_minutes() -> f64 {
    600.0
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuitesSpec {
    pub official: SuiteSpec,
    /// Absent: the task is unprobed, and everything that shows it says so.
    #[serde(default)]
    pub probes: Option<SuiteSpec>,
}

impl SuitesSpec {
    pub fn get(&self, suite: Suite) -> Option<&SuiteSpec> {
        match suite {
            Suite::Official => Some(&self.official),
            Suite::Probes => self.probes.as_ref(),
        }
    }
}

impl TaskSpec {
    /// The same task with `ranks` processes in every suite; where it needs GPUs, one for each.
    #[must_use]
    pub fn with_ranks(mut self, ranks: u32) -> Self {
        self.suites.official.ranks = ranks;
        if let Some(probes) = &mut self.suites.probes {
            probes.ranks = ranks;
        }
        if self.hardware.gpus > 0 {
            self.hardware.gpus = ranks;
        }
        self
    }
}

/// One suite: a tree that replaces a folder of the work tree as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuiteSpec {
    /// The tree: a folder beside `task.toml`; absent with a git source: the folder `into` of the
    /// gold commit.
    #[serde(default)]
    pub from: Option<String>,
    /// The folder of the work tree that is replaced.
    pub into: String,
    /// What the test runner is given, relative to the work tree; empty: `into`.
    #[serde(default)]
    pub paths: Vec<String>,
    /// More arguments for the test runner.
    #[serde(default)]
    pub args: Vec<String>,
    #[serde(default = "one")]
    pub ranks: u32,
    #[serde(default = "ten_minutes")]
    pub limit_s: f64,
    /// Absent: max(60 s, 10x gold's slowest case).
    #[serde(default)]
    pub case_limit_s: Option<f64>,
}

fn one() -> u32 {
    1
}

/// A task as found on disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    pub spec: TaskSpec,
    pub dir: PathBuf,
    pub submissions: Vec<Submission>,
}

impl Task {
    pub fn id(&self) -> &str {
        &self.spec.id
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.dir.join(relative)
    }

    pub fn prompt_path(&self) -> PathBuf {
        self.dir.join("prompt.md")
    }

    pub fn submission(&self, name: &str) -> Option<&Submission> {
        self.submissions.iter().find(|s| s.spec.name == name)
    }

    /// The claim that a probe function is mapped to.
    pub fn claim_of(&self, function: &str) -> Option<&Claim> {
        self.spec
            .claims
            .iter()
            .find(|c| c.probes.iter().any(|p| p == function))
    }
}

/// Whether a relative path of a task file stays inside its folder.
pub fn stays_inside(relative: &str) -> bool {
    use std::path::Component;
    !relative.is_empty()
        && Path::new(relative)
            .components()
            .all(|c| matches!(c, Component::Normal(_) | Component::CurDir))
}

/// Whether a name can stand for data: letters, digits, `.`, `_` and `-`, not hidden.
pub fn names_data(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    !name.is_empty() && name.len() <= 100 && !name.starts_with('.') && name.chars().all(plain)
}
