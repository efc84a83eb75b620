//! Whether a container daemon answers.

use super::document::Check;
use super::examine::Examination;
use crate::engine::docker::{ASK_LIMIT, find, places};

/// Docker is never needed where namespaces work.
pub(super) fn check(examination: &Examination<'_>) -> Check {
    const NAME: &str = "docker";
    match places(|name| examination.variable(name)).and_then(|places| find(&places, ASK_LIMIT)) {
        Ok(found) => {
            let name = if found.podman { " as podman" } else { "" };
            let at = found.socket.display();
            Check::ok(NAME, format!("{at} answers{name}, API {}", found.api))
        }
        Err(unavailable) => Check::warn(NAME, unavailable.to_string(), unavailable.advice()),
    }
}
