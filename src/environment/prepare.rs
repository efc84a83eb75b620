//! The entry: one kind or another, and the data that the task names.

use super::image::Asked;
use super::types::{Environment, Progress, Request};
use super::{EnvironmentError, data, host, image, uv};
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
    let asked = Asked::of(request, &home, progress);
    let mut environment = match (request.spec.kind, asked) {
        (EnvironmentKind::Uv, _) => uv::prepare(request, &home, progress)?,
        (EnvironmentKind::Host, None) => host::prepare(request, &home)?,
        (EnvironmentKind::Host, Some(asked)) => {
            return Err(EnvironmentError::Host {
                image: asked.image.name.clone(),
            });
        }
        (EnvironmentKind::Image, None) => return Err(EnvironmentError::Image),
        (EnvironmentKind::Image, Some(asked)) => image::prepare(request, &asked)?,
    };
    environment.mounts.extend(data);
    Ok(environment)
}
