//! What [`super::update::update`] asks the loop to do. Effects are data: tests read them.

use crate::domain::submission::LogFormat;
use crate::domain::{CaseResult, RunId, Subject, Suite};

use super::agent_offer::AgentRequest;
use super::backend::{GradeRequest, LogKey};
use super::highlight::Wanted;
use super::state::Comparison;

/// The next piece of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct LogWish {
    pub key: LogKey,
    pub format: LogFormat,
    /// Forget what was read.
    pub restart: bool,
    /// Somebody may still write to it.
    pub grows: bool,
    /// When the agent that writes it began; absent: its arrival times are nobody's business.
    pub since_s: Option<f64>,
}

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
    /// The agents that can be run on a task.
    LoadAgents(String),
    RunAgent(AgentRequest),
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
    ReadLog(LogWish),
    /// Colours of one side of a file, in pieces.
    Highlight(Wanted),
    /// Clear and draw everything.
    Repaint,
    Suspend,
    Quit,
}
