//! What is asked of a shell, and what its two halves say to each other, in frames
//! ([`crate::engine::frame`]).

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::domain::{CaseId, EngineChoice, RunId, Source, Suite};
use crate::engine::{ProcessStatus, Stream, TerminalSize};

/// What the tree is made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// What a run graded, as it is kept there.
    Run(RunId),
    Source(Source),
    /// Made from base and gold.
    Hollow,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    pub task: String,
    /// Absolute.
    pub task_dir: PathBuf,
    pub subject: Subject,
    /// The run that it is about, where there is one: what changed since is told.
    pub run: Option<RunId>,
    pub suite: Suite,
    /// Absent: the suite.
    pub case: Option<CaseId>,
    /// What became of the case in the run, for the greeting.
    pub outcome: Option<String>,
    /// Absent: the task's own number.
    pub ranks: Option<u32>,
    pub engine: EngineChoice,
    /// This command without a terminal, instead of a shell.
    pub command: Option<String>,
    /// The person's terminal; absent with a command.
    pub terminal: Option<TerminalSize>,
    /// Its type (`TERM`).
    pub terminal_type: Option<String>,
    /// What was changed in the tree is told at the end.
    pub keep_patch: bool,
}

/// From the person's half to the one that holds the sandbox. It ends when this stream does.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromPerson {
    /// The first.
    Order(Box<Order>),
    /// The frame's payload was typed.
    Typed,
    Resize(TerminalSize),
}

/// To the person's half. Texts hold names of submissions and tests: to be made safe before they are
/// shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToPerson {
    /// What goes on while it is made ready.
    Progress(String),
    /// The shell runs.
    Open {
        /// What is not as it was.
        warnings: Vec<String>,
        greeting: Vec<String>,
    },
    /// The frame's payload is output.
    Output(Stream),
    /// Something happened to the sandbox.
    Note(String),
    Ended(ProcessStatus),
    /// The frame's payload is what was changed in the tree, as a patch; empty: nothing.
    Patch {
        /// Changes that no patch holds.
        left_out: Vec<String>,
    },
    /// Nothing came of it; `input`: it was asked for something that is not there.
    Failed {
        input: bool,
        message: String,
    },
}
