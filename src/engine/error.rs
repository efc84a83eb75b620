//! What can go wrong with a sandbox itself (not with what runs in it).

use std::path::PathBuf;

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
