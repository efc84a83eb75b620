//! Why there is no environment, and what mends it.

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::engine::EngineError;

#[derive(Debug, Error)]
pub enum EnvironmentError {
    #[error(
        "environment kind `image` needs the docker engine; use --engine docker, or kind `uv` or \
         `host` in task.toml"
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
        "environment kind `host` is an interpreter of this machine, and image {image} has its own; use --engine local, or kind `uv` or `image` in task.toml"
    )]
    Host { image: String },
    #[error(
        "no python interpreter for {wanted} in image {image}; tried: {}; take an image that has one \
         (3.10 or newer), or change `python` in task.toml", tried.join("; ")
    )]
    NoInterpreterInImage {
        image: String,
        wanted: String,
        tried: Vec<String>,
    },
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
        "the task runs in the Python of its image (kind = \"image\"), and {python} of {image} cannot import pytest; put pytest into the image, or use kind `uv` in task.toml"
    )]
    NoPytestInImage { image: String, python: PathBuf },
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
    #[error("a container of image {image} for the environment: {source}")]
    Container {
        image: String,
        source: Box<EngineError>,
    },
    #[error("the container of image {image} in which the environment was made ended: {reason}")]
    ContainerEnded { image: String, reason: String },
    #[error("{folder}: the build left {what} there; a package of {lock} does what it should not")]
    Strange {
        folder: PathBuf,
        what: String,
        lock: PathBuf,
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
                | Self::Host { .. }
                | Self::NoInterpreterInImage { .. }
                | Self::NoPytest { .. }
                | Self::NoPytestInImage { .. }
                | Self::Data { .. }
                | Self::NoEnvironment { .. }
        )
    }
}
