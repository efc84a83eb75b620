//! What can go wrong with a sandbox itself (not with what runs in it).

use std::path::PathBuf;

use super::docker::DockerUnavailable;
use super::frame::FrameError;
use super::{Refusal, RefusalKind};

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The machine refuses namespaces: no sandbox can run here until that changes.
    #[error("this machine refuses the sandbox's namespaces: {step}: {reason}; {advice}")]
    NamespacesRefused {
        step: String,
        reason: String,
        /// What to do about it, as a sentence without its full stop.
        advice: String,
    },
    /// A mount that was asked for cannot be made.
    #[error("{what}: {message}")]
    Mount { what: String, message: String },
    #[error("the sandbox did not start: {step}: {message}")]
    Start { step: String, message: String },
    #[error("the sandbox did not start within {seconds} s")]
    StartTimeout { seconds: u64 },
    #[error("{0}; {advice}", advice = .0.advice())]
    Docker(DockerUnavailable),
    #[error("the image {image} is not on this machine; {advice}")]
    ImageMissing {
        image: String,
        /// As with namespaces.
        advice: String,
    },
    /// Our own program is process 1 of every container, and this image cannot run it.
    #[error(
        "infradev cannot run in the image {image}: {message}; take an image with glibc that is no \
         older than this machine's"
    )]
    ImageUnfit { image: String, message: String },
    /// The disk of the container engine is full.
    #[error(
        "no space is left on the disk of the container engine: {message}; `docker system df` shows what takes it"
    )]
    NoSpace { message: String },
    #[error(
        "the container engine cannot give GPUs to a container: {message}; install the NVIDIA Container Toolkit and restart the engine"
    )]
    NoGpus { message: String },
    /// Anything else that the container engine refused.
    #[error("the container engine failed while {doing}: {message}")]
    Daemon {
        doing: &'static str,
        message: String,
    },
    /// What came out of the sandbox is not our protocol.
    #[error("the sandbox's messages are broken: {0}")]
    Protocol(#[from] FrameError),
    /// The sandbox has ended; nothing can be started in it any more.
    #[error("the sandbox has ended")]
    Ended,
    #[error("{doing} {path}: {source}")]
    Io {
        doing: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
}

impl EngineError {
    /// A refusal of the set-up, with `stderr` of what set it up and the machine's advice.
    pub(super) fn from_refusal(refusal: Refusal, advice: impl FnOnce() -> String) -> Self {
        let Refusal {
            kind,
            step,
            message,
        } = refusal;
        match kind {
            RefusalKind::Namespaces => Self::NamespacesRefused {
                step,
                reason: message,
                advice: advice(),
            },
            RefusalKind::Mount => Self::Mount {
                what: step,
                message,
            },
            RefusalKind::Other => Self::Start { step, message },
        }
    }
}
