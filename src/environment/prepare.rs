//! The entry: one kind or another, and the data that the task names.

use super::types::{Environment, Progress, Request};
use super::{EnvironmentError, data, host, uv};
use crate::domain::task::EnvironmentKind;

/// Finds or builds the environment of a task. Blocks; `progress` is called on this thread.
pub fn prepare(
    request: &Request,
    progress: &dyn Fn(Progress),
) -> Result<Environment, EnvironmentError> {
    std::fs::create_dir_all(&request.home).map_err(EnvironmentError::io(&request.home))?;
    // a virtual environment holds absolute paths: the home's real one
    let home = request
        .home
        .canonicalize()
        .map_err(EnvironmentError::io(&request.home))?;
    // first: what is not there is told before anything is built
    let data = data::mounts(request, &home)?;
    let mut environment = match request.spec.kind {
        EnvironmentKind::Uv => uv::prepare(request, &home, progress)?,
        EnvironmentKind::Host => host::prepare(request, &home)?,
        EnvironmentKind::Image => return Err(EnvironmentError::Image),
    };
    environment.mounts.extend(data);
    Ok(environment)
}
