//! What [`super::update::update`] asks the loop to do. Effects are data: tests read them.

use crate::domain::{CaseResult, RunId, Subject, Suite};

use super::backend::{GradeRequest, LogKey};
use super::highlight::Wanted;
use super::state::Comparison;

#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    LoadTasks,
    LoadRuns,
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
    Cancel(RunId),
    LoadChanges(Comparison),
    LoadFile {
        comparison: Comparison,
        path: String,
        old_path: Option<String>,
    },
    LoadDetail {
        run: RunId,
        subject: Subject,
        suite: Suite,
        result: CaseResult,
    },
    /// Lines around a frame of a case's traceback.
    LoadExcerpt {
        comparison: Comparison,
        suite: Suite,
        case: crate::domain::CaseId,
        frame: usize,
        path: String,
        line: u32,
    },
    FindAgentLog(LogKey),
    LoadOutputs(RunId),
    /// The next piece of a log; `restart` forgets what was read.
    ReadLog {
        key: LogKey,
        format: crate::domain::submission::LogFormat,
        restart: bool,
    },
    /// Colours of one side of a file, in pieces.
    Highlight(Wanted),
    /// Clear and draw everything.
    Repaint,
    Suspend,
    Quit,
}
