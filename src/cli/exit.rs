//! Exit codes and the errors that lead to them.

use std::process::ExitCode;

use crate::agent::adapter::AdapterError;
use crate::catalog::CatalogError;
use crate::environment::EnvironmentError;
use crate::launch::{AgentLaunchError, LaunchError, OrderError, PromptError};
use crate::store::StoreError;

/// The meaning of an exit code, the same for every subcommand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Yes,
    No,
    Input,
    Machinery,
    /// What a command in a sandbox ended with (`shell -c`).
    Other(u8),
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Exit::Yes => 0,
            Exit::No => 1,
            Exit::Input => 2,
            Exit::Machinery => 3,
            Exit::Other(code) => code,
        }
    }

    pub fn from_code(code: u8) -> Self {
        match code {
            0 => Exit::Yes,
            1 => Exit::No,
            2 => Exit::Input,
            _ => Exit::Machinery,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

/// An error with the exit code that it means.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub message: String,
}

impl Failure {
    pub fn input(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Input,
            message: message.into(),
        }
    }

    pub fn machinery(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Machinery,
            message: message.into(),
        }
    }
}

impl From<CatalogError> for Failure {
    fn from(e: CatalogError) -> Self {
        Self::input(e.to_string())
    }
}

impl From<StoreError> for Failure {
    fn from(e: StoreError) -> Self {
        match e {
            StoreError::NoRun { .. } | StoreError::Ambiguous { .. } | StoreError::Busy { .. } => {
                Self::input(e.to_string())
            }
            _ => Self::machinery(e.to_string()),
        }
    }
}

impl From<EnvironmentError> for Failure {
    fn from(e: EnvironmentError) -> Self {
        if e.is_input() {
            Self::input(e.to_string())
        } else {
            Self::machinery(e.to_string())
        }
    }
}

impl From<LaunchError> for Failure {
    fn from(e: LaunchError) -> Self {
        Self::machinery(e.to_string())
    }
}

impl From<AdapterError> for Failure {
    fn from(e: AdapterError) -> Self {
        Self::input(e.to_string())
    }
}

impl From<PromptError> for Failure {
    fn from(e: PromptError) -> Self {
        Self::input(e.to_string())
    }
}

impl From<AgentLaunchError> for Failure {
    fn from(e: AgentLaunchError) -> Self {
        match e {
            AgentLaunchError::Store(e) => e.into(),
            e => Self::input(e.to_string()),
        }
    }
}

impl From<OrderError> for Failure {
    fn from(e: OrderError) -> Self {
        match e {
            OrderError::Store(e) => e.into(),
            OrderError::Launch(e) => e.into(),
            OrderError::Patch { .. } => Self::input(e.to_string()),
        }
    }
}
