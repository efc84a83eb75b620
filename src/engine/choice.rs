//! Either engine, for those who do not care which.

use std::path::Path;

use super::docker::Docker;
use super::local::LocalOptions;
use super::{EngineError, Sandbox, SandboxSpec};
use crate::domain::EngineKind;

#[derive(Clone, Debug)]
pub enum Engine {
    Local(LocalOptions),
    Docker(Docker),
}

impl Engine {
    pub fn kind(&self) -> EngineKind {
        match self {
            Self::Local(_) => EngineKind::Local,
            Self::Docker(_) => EngineKind::Docker,
        }
    }

    /// `scratch` is an existing folder of the caller's that may be shared by many sandboxes; a few
    /// small files of the engine's stay there.
    pub async fn start(&self, spec: SandboxSpec, scratch: &Path) -> Result<Sandbox, EngineError> {
        match self {
            Self::Local(options) => Sandbox::start_local_with(spec, scratch, options).await,
            // boxed: its future is large, and would be part of everybody's
            Self::Docker(docker) => Box::pin(docker.start(spec, scratch)).await,
        }
    }
}
