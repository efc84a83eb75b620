//! The container engine, for commands that work on it directly.

use super::context::Context;
use super::exit::Failure;
use crate::engine::EngineError;
use crate::engine::docker::{Docker, DockerUnavailable, Owner};

/// Does something with this machine's container engine; `work` may be interrupted, and what it was
/// doing is then dropped.
pub fn with_docker<T>(
    context: &Context,
    work: impl AsyncFnOnce(Result<Docker, DockerUnavailable>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|e| Failure::machinery(format!("no runtime: {e}")))?;
    let owner = Owner {
        home: context.home_path().to_path_buf(),
        run: "cli".into(),
    };
    runtime.block_on(async {
        let working = async { work(Docker::connect(owner).await).await };
        tokio::select! {
            done = working => done,
            _ = tokio::signal::ctrl_c() => Err(Failure::machinery("interrupted; nothing was left behind")),
        }
    })
}

impl From<EngineError> for Failure {
    fn from(e: EngineError) -> Self {
        Self::machinery(e.to_string())
    }
}

impl From<DockerUnavailable> for Failure {
    fn from(e: DockerUnavailable) -> Self {
        EngineError::Docker(e).into()
    }
}
