//! The model: one thing that happened in an agent's session.

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::{Level, Usage};

/// All text in it is untrusted.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Seconds since the epoch, where the stream tells.
    pub at_s: Option<f64>,
    pub kind: Kind,
}

impl Entry {
    pub fn new(at_s: Option<f64>, kind: Kind) -> Self {
        Self { at_s, kind }
    }

    /// Something went wrong here.
    pub fn bad(&self) -> bool {
        match &self.kind {
            Kind::Command { progress, .. }
            | Kind::Tool { progress, .. }
            | Kind::Edit { progress, .. } => *progress == Progress::Failed,
            Kind::Error { .. } => true,
            Kind::Notice { level, .. } => *level == Level::Error,
            _ => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Message {
        role: Role,
        text: String,
    },
    Reasoning {
        text: String,
    },
    Command {
        /// As typed: a shell around it is taken off.
        command: String,
        output: String,
        /// `None`: the stream does not tell.
        exit: Option<i64>,
        progress: Progress,
        duration_s: Option<f64>,
    },
    Edit {
        files: Vec<(EditKind, String)>,
        /// What the tool said or the new text, where the stream has it.
        detail: String,
        progress: Progress,
    },
    Tool {
        name: String,
        input: String,
        output: String,
        progress: Progress,
    },
    /// Tokens as METHOD.md section 9 splits them.
    Usage {
        usage: Usage,
        cost_usd: Option<f64>,
        /// Of everything so far; else of one call.
        total: bool,
    },
    Error {
        text: String,
    },
    Notice {
        level: Level,
        text: String,
    },
    /// The agent waits for its model's service: a retry, or a rate limit.
    Wait {
        text: String,
        /// How long, where the stream tells; a time to wait until is told in the text.
        delay_s: Option<f64>,
        /// For a rate limit; else for a service that failed.
        rate_limit: bool,
    },
    /// An event that is not known, or a line that is no event.
    Raw {
        text: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Agent,
    User,
    System,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EditKind {
    Add,
    Delete,
    Update,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Begun, and no end seen.
    Running,
    Done,
    Failed,
}
