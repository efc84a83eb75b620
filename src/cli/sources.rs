//! A task and its versions, for the subcommands that read sources.

use super::context::Context;
use super::exit::Failure;
use crate::domain::Task;
use crate::workspace::{SourcesError, Versions, WorkspaceError};

pub fn open(context: &Context, id: &str) -> Result<(Task, Versions), Failure> {
    let task = context.catalog()?.usable(id)?;
    let store = context.home()?.snapshots();
    let versions = Versions::open(&task, &context.mirrors(), &store)?;
    Ok((task, versions))
}

impl From<SourcesError> for Failure {
    fn from(e: SourcesError) -> Self {
        match e {
            SourcesError::Task { what } => Self::input(what),
            SourcesError::Workspace(e) => e.into(),
        }
    }
}

impl From<WorkspaceError> for Failure {
    fn from(e: WorkspaceError) -> Self {
        Self::input(e.to_string())
    }
}

/// `1 file`, `2 files`.
pub fn count(n: usize, one: &str) -> String {
    if n == 1 {
        format!("1 {one}")
    } else {
        format!("{n} {one}s")
    }
}
