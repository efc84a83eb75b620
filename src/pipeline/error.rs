//! How a pipeline ends short of a grade.

use crate::store::StoreError;

/// Why a run ended without a grade.
#[derive(Debug)]
pub enum Stop {
    /// Somebody asked for it.
    Cancelled,
    /// The task or the request is at fault: exit 2.
    Input(String),
    /// The machinery is at fault: exit 3, never the submission's score.
    Fault(String),
}

impl From<StoreError> for Stop {
    fn from(e: StoreError) -> Self {
        Self::Fault(e.to_string())
    }
}

/// The worker itself could not work.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("no runtime: {0}")]
    Runtime(std::io::Error),
}
