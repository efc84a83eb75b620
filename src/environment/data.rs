//! Weights and data sets: in one shared cache of the home, seen by every task that names them.

use std::path::{Path, PathBuf};

use super::EnvironmentError;
use super::types::Request;
use crate::domain::task::names_data;
use crate::engine::spec::{Access, Mount};

/// Where a sandbox sees them.
const INSIDE: &str = "/data";

/// Where a home keeps them; an entry may be a link to another disk.
pub(super) fn folder(home: &Path) -> PathBuf {
    home.join("cache").join("data")
}

/// Read-only mounts of what the task names.
pub(super) fn mounts(request: &Request, home: &Path) -> Result<Vec<Mount>, EnvironmentError> {
    let mount = |name: &String| {
        let place = folder(home).join(name);
        let refuse = |reason: String| EnvironmentError::Data {
            name: name.clone(),
            place: place.clone(),
            reason,
        };
        if !names_data(name) {
            return Err(refuse("it is no plain name".into()));
        }
        let source = place
            .canonicalize()
            .map_err(|error| refuse(error.to_string()))?;
        Ok(Mount {
            source,
            target: Path::new(INSIDE).join(name),
            access: Access::ReadOnly,
        })
    };
    request.spec.data.iter().map(mount).collect()
}
