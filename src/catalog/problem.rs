//! What is wrong with a task file, where, and how to mend it.

use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Says what was not looked at, and why; the task may be in order.
    Note,
    /// Stays in every list and report, never stops a run.
    Warning,
    /// The task cannot be used.
    Error,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Problem {
    pub severity: Severity,
    pub file: PathBuf,
    /// 1-based; absent where the whole file or folder is meant.
    pub line: Option<usize>,
    pub message: String,
    pub mend: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        let word = match self.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, ": {word}: {}", self.message)?;
        if !self.mend.is_empty() {
            write!(f, "\n    mend: {}", self.mend)?;
        }
        Ok(())
    }
}

#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    #[error(
        "no folder of tasks at {path}; give one with --tasks DIR, or run in a checkout that has tasks/"
    )]
    NoTasks { path: PathBuf },
    #[error("no task {id:?} in {path}; known: {known}")]
    NoTask {
        id: String,
        path: PathBuf,
        known: String,
    },
    #[error("task {id} cannot be used:\n{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Broken { id: String, problems: Vec<Problem> },
    #[error("task {task} has no submission {name:?}; known: {known}")]
    NoSubmission {
        task: String,
        name: String,
        known: String,
    },
    #[error("{path}: {source}")]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
}
