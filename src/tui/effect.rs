//! What [`super::update::update`] asks the loop to do. Effects are data: tests read them.

use std::path::PathBuf;
use std::sync::Arc;

use crate::diff::DiffOptions;
use crate::domain::notes::LineNote;
use crate::domain::submission::LogFormat;
use crate::domain::{CaseResult, RunId, Source, Subject, Suite};

use super::agent_offer::AgentRequest;
use super::backend::{GradeRequest, LogKey, VerifyRequest};
use super::highlight::Wanted;
use super::panes::diff::entries::{Entry, Trees};
use super::panes::log::scan::Scan;
use super::state::Comparison;

/// The next piece of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct LogWish {
    pub key: LogKey,
    pub format: LogFormat,
    /// Another one where reading begins anew.
    pub ticket: u64,
    /// Begin anew here; `None`: read on.
    pub restart: Option<Place>,
    /// Its lines as they are.
    pub raw: bool,
    /// As much is held as may be: only what completes it is wanted, and the figures.
    pub full: bool,
    /// Somebody may still write to it.
    pub grows: bool,
    /// When the agent that writes it began; absent: its arrival times are nobody's business.
    pub since_s: Option<f64>,
}

/// Where in a log reading begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Start,
    /// So far before its end that a while of it is there.
    End,
    /// The line that begins at or after a byte.
    At(u64),
}

/// A file to open in the user's editor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditRequest {
    pub path: PathBuf,
    pub at: EditAt,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditAt {
    Start,
    Line(u32),
    /// Where a test function begins.
    Function(String),
    /// Where a patch changes this file, near this line of what comes out.
    Change(String, Option<u32>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    LoadTasks,
    LoadRuns,
    /// How the judges of all tasks stand.
    LoadStandings,
    LoadRun(RunId),
    LoadJournal {
        run: RunId,
        from: u64,
    },
    LoadCalibration {
        run: RunId,
        key: String,
    },
    Grade(GradeRequest),
    /// The agents that can be run on a task.
    LoadAgents(String),
    RunAgent(AgentRequest),
    Cancel(RunId),
    LoadChanges(Comparison),
    LoadFile {
        comparison: Comparison,
        path: String,
        old_path: Option<String>,
        modes: Option<[u32; 2]>,
        options: DiffOptions,
    },
    /// A part of a file beside what stands for it.
    ShowPart {
        comparison: Comparison,
        trees: Arc<Trees>,
        entry: Box<Entry>,
        options: DiffOptions,
    },
    LoadNotes(RunId),
    KeepNote(RunId, Box<LineNote>),
    LoadDetail {
        run: RunId,
        subject: Subject,
        suite: Suite,
        result: CaseResult,
    },
    /// The cases of finished runs.
    LoadOutcomes(Vec<RunId>),
    /// Lines around a frame of a case's traceback; line 0: the case's own function.
    LoadExcerpt {
        task: String,
        tree: Source,
        suite: Suite,
        case: crate::domain::CaseId,
        frame: usize,
        path: String,
        line: u32,
    },
    /// The acceptance matrix of a task, from its verify runs, newest first.
    LoadAcceptance {
        task: String,
        runs: Vec<RunId>,
    },
    /// The story of a case in a cell.
    LoadCellDetail {
        key: String,
        case: crate::domain::CaseId,
    },
    /// A file that a traceback names: of a suite, else of the patched tree.
    LoadSource {
        task: String,
        suite: Suite,
        tree: Source,
        path: String,
    },
    Verify(VerifyRequest),
    Edit(EditRequest),
    /// A shell in a sandbox: the words of `infradev shell`.
    Shell(Vec<String>),
    /// The command line that does the same elsewhere, in the footer.
    TellShell(Vec<String>),
    FindAgentLog(LogKey),
    LoadOutputs(RunId),
    ReadLog(LogWish),
    /// Colours of one side of a file, in pieces.
    Highlight(Wanted),
    /// To the clipboard, and into a file.
    Copy(String),
    /// Into a new file of this name.
    Save {
        name: String,
        text: String,
    },
    /// The next slice of looking through the log.
    ScanLog(Scan),
    /// Clear and draw everything.
    Repaint,
    Suspend,
    Quit,
}
