//! Why there is no environment, and what mends it.

use std::path::{Path, PathBuf};

use thiserror::Error;

#[derive(Debug, Error)]
pub enum EnvironmentError {
    #[error(
        "environment kind `image` needs the docker engine, which this version does not have; \
         use kind `uv` or `host` in task.toml"
    )]
    Image,
    #[error(
        "{task_dir}: environment kind `uv` without `requirements`; name the lock file in \
         task.toml, [environment] requirements = \"requirements.lock\""
    )]
    NoRequirements { task_dir: PathBuf },
    #[error("{path}:{line}: {reason}")]
    Requirements {
        path: PathBuf,
        line: usize,
        reason: String,
    },
    #[error(
        "no python interpreter for {wanted}; tried: {}; install one (3.10 or newer) or put it on \
         PATH, or change `python` in task.toml", tried.join("; ")
    )]
    NoInterpreter { wanted: String, tried: Vec<String> },
    #[error(
        "uv is not on PATH and could not be installed with {python}, so that these packages are \
         missing: {}; install uv (0.5 or newer), or give that interpreter pip or ensurepip and a \
         way to a package index (proxy, index and certificate variables are passed on)\n{reason}",
        packages.join(", ")
    )]
    NoTool {
        python: PathBuf,
        packages: Vec<String>,
        reason: String,
    },
    #[error(
        "packages of {lock} that are neither in the cache nor reachable: {}; go online once (or \
         set the proxy, index and certificate variables that your package clients need) and run \
         again, or copy a filled cache to {cache}\n{reason}",
        packages.join(", ")
    )]
    Missing {
        lock: PathBuf,
        packages: Vec<String>,
        cache: PathBuf,
        reason: String,
    },
    #[error(
        "{lock}: what was downloaded for {package} is not what the lock promises; check where the \
         package index points, or compile the lock again\n{reason}"
    )]
    HashMismatch {
        lock: PathBuf,
        package: String,
        reason: String,
    },
    #[error("building the environment of {lock} failed while it was to {step}:\n{output}")]
    Build {
        lock: PathBuf,
        step: String,
        output: String,
    },
    #[error(
        "the task runs in this machine's own Python (kind = \"host\"), and {python} cannot import pytest; put a Python that has pytest and what the task needs first on PATH, or run `{python} -m pip install pytest`"
    )]
    NoPytest { python: PathBuf },
    #[error(
        "the task's data {name:?} is not at {place} ({reason}); put it there (a folder, a file or a \
         link to one), or correct `data` in task.toml, [environment]"
    )]
    Data {
        name: String,
        place: PathBuf,
        reason: String,
    },
    #[error("{python}: cannot be asked about itself: {reason}")]
    Interpreter { python: PathBuf, reason: String },
    #[error("environment {hash:?} in {home}: {reason}; `infradev env list` lists them")]
    NoEnvironment {
        hash: String,
        home: PathBuf,
        reason: String,
    },
    #[error("the environment's build was stopped")]
    Stopped,
    #[error("{path}: {source}")]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
}

impl EnvironmentError {
    pub(super) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::Io {
            path: path.to_path_buf(),
            source,
        }
    }

    /// The task's author, or whoever chose the Python, can mend it; everything else is this
    /// machine's or ours.
    pub fn is_input(&self) -> bool {
        matches!(
            self,
            Self::Image
                | Self::NoRequirements { .. }
                | Self::Requirements { .. }
                | Self::HashMismatch { .. }
                | Self::NoPytest { .. }
                | Self::Data { .. }
                | Self::NoEnvironment { .. }
        )
    }
}
