//! What is asked of [`super::prepare()`], what it answers, and what it says meanwhile.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::interpreter::Package;
use super::lock::Hold;
use crate::domain::task::{EnvironmentKind, EnvironmentSpec};
use crate::engine::docker::{Docker, Image};
use crate::engine::spec::Mount;

/// One request: the task's `[environment]` and where things are.
#[derive(Clone, Debug)]
pub struct Request {
    pub spec: EnvironmentSpec,
    /// The folder that `spec.requirements` is relative to.
    pub task_dir: PathBuf,
    /// The home (`env/`, `cache/uv/` and `tools/` below it are ours).
    pub home: PathBuf,
    /// The environment variables that package clients see: certificates, proxies, index settings,
    /// and the `PATH` on which interpreters and uv are looked for.
    pub host_env: BTreeMap<OsString, OsString>,
    /// Set by another thread: the build stops within a second, or two where a container is to go.
    pub stop: Arc<AtomicBool>,
    pub builder: Builder,
}

/// Where an environment is built, and so for which sandboxes.
#[derive(Clone, Debug, Default)]
#[allow(clippy::large_enum_variant)] // a run has one
pub enum Builder {
    /// On this machine, with one of its interpreters: for the local engine.
    #[default]
    Here,
    /// In a container of this image, with the image's interpreter: for the docker engine. The
    /// runtime on which it was connected must be running, on another thread.
    Image { docker: Docker, image: Image },
}

impl Request {
    /// A request under this process's own environment variables.
    pub fn new(spec: EnvironmentSpec, task_dir: &Path, home: &Path) -> Self {
        Self {
            spec,
            task_dir: task_dir.to_path_buf(),
            home: home.to_path_buf(),
            host_env: std::env::vars_os().collect(),
            stop: Arc::new(AtomicBool::new(false)),
            builder: Builder::default(),
        }
    }
}

/// An environment that can be mounted.
#[derive(Clone, Debug, PartialEq)]
pub struct Environment {
    /// 64 hexadecimal digits; same hash, same environment.
    pub hash: String,
    pub kind: EnvironmentKind,
    /// The interpreter's path, inside the sandbox as outside.
    pub python: PathBuf,
    /// Read-only: the environment itself, the interpreter's real prefix, and the task's data.
    /// `/usr`, `/bin` and `/lib*` are left to the engine; with an image the interpreter as well.
    pub mounts: Vec<Mount>,
    /// For every process: `PATH`, `VIRTUAL_ENV` and the like (an image's own variables below
    /// them), then the task's own `env`.
    pub env: BTreeMap<String, String>,
    /// Built just now, rather than found.
    pub built: bool,
    pub python_version: String,
    /// By name.
    pub packages: Vec<Package>,
    /// Not collected while this lives.
    pub hold: Hold,
}

/// How an environment's files came out of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkMode {
    Hardlink,
    /// Cache and environment lie on file systems between which no hard link can be made.
    Copy,
}

impl LinkMode {
    pub fn name(self) -> &'static str {
        match self {
            LinkMode::Hardlink => "hardlink",
            LinkMode::Copy => "copy",
        }
    }
}

/// What a build is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Interpreter,
    Tool,
    /// Another worker builds the same; we wait for it.
    Wait,
    Create,
    Install,
    Seal,
}

impl Step {
    pub fn name(self) -> &'static str {
        match self {
            Step::Interpreter => "interpreter",
            Step::Tool => "tool",
            Step::Wait => "wait",
            Step::Create => "create",
            Step::Install => "install",
            Step::Seal => "seal",
        }
    }
}

/// One line for the stage log; free of control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    pub step: Step,
    pub text: String,
}

impl Progress {
    pub(super) fn new(step: Step, text: impl Into<String>) -> Self {
        Self {
            step,
            text: text.into(),
        }
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "environment: {}: {}", self.step.name(), self.text)
    }
}
