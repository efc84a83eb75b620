//! How tasks stand, and how every case of a run ended.

use std::collections::BTreeMap;
use std::path::Path;

use crate::catalog::Catalog;
use crate::domain::GradedCase;
use crate::pipeline::freshness;
use crate::store::{self, RunDir};
use crate::tui::backend::{Answer, BackendError};
use crate::tui::panes::tasks::status::TaskStanding;

/// By task, whether its judge can be believed: reads what the acceptances rest on.
pub fn standings(tasks: &Path) -> Answer<BTreeMap<String, TaskStanding>> {
    if !tasks.is_dir() {
        return Ok(BTreeMap::new());
    }
    let catalog = Catalog::open(tasks).map_err(BackendError::new)?;
    let all = catalog.load_all().map_err(BackendError::new)?;
    let known = all.into_iter().filter_map(|loaded| {
        let task = loaded.task?;
        let kept = store::task_calibrations(&task.dir);
        let standing = TaskStanding {
            acceptance: freshness(&task),
            calibrated: kept.iter().any(|(_, read)| read.is_ok()),
        };
        Some((task.id().to_owned(), standing))
    });
    Ok(known.collect())
}

/// The verdict's cases; none of a run without a verdict.
pub fn outcomes(run: &RunDir) -> Answer<Vec<GradedCase>> {
    let state = run.state().map_err(BackendError::new)?;
    Ok(state.grade.map(|grade| grade.cases).unwrap_or_default())
}
