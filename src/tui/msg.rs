//! What comes into [`super::update::update`]: keys, answers, changes, samples.

use std::collections::BTreeMap;

use crate::agent::trace::Entry;
use crate::domain::case::CaseDetail;
use crate::domain::notes::Notes;
use crate::domain::{CaseId, CaseResult, GradedCase, RunId, Suite};

use crate::report::acceptance::Matrix;

use super::agent_offer::{AgentOffer, AgentRequest};
use super::backend::{
    Answer, Change, GradeRequest, JournalChunk, LogInfo, LogKey, RunSummary, TaskList,
    VerifyRequest,
};
use super::gpu_view::GpuView;
use super::highlight::Piece;
use super::keymap::Key;
use super::panes::diff::entries::Listed;
use super::panes::diff::state::DiffFile;
use super::panes::log::scan::Scanned;
use super::panes::tasks::status::TaskStanding;
use super::reading::Figures;
use super::state::Comparison;

#[derive(Clone, Debug)]
pub enum Msg {
    Key(Key),
    Paste(String),
    /// The left button, at a cell of the screen.
    Click {
        column: u16,
        row: u16,
    },
    /// The wheel over a cell: down is positive. What came within a frame is one.
    Wheel {
        column: u16,
        row: u16,
        steps: i16,
    },
    Resize(u16, u16),
    /// The footer's message has stood long enough.
    ToastOver,
    /// A second passed while a run lives and is seen.
    Tick,
    /// The terminal came back after a stop: everything must be drawn anew.
    Resumed,
    /// What the terminal refused to do, in words.
    Toast(String),
    /// What the terminal did, in words.
    Said(String),

    Tasks(Answer<TaskList>),
    Standings(Answer<BTreeMap<String, TaskStanding>>),
    Runs(Answer<Vec<RunSummary>>),
    Run(RunId, Answer<Option<RunSummary>>),
    Journal(RunId, Answer<JournalChunk>),
    Calibration(RunId, Answer<Vec<(Suite, CaseResult)>>),
    Started(GradeRequest, Answer<RunId>),
    /// By task.
    Agents(String, Answer<AgentOffer>),
    AgentStarted(AgentRequest, Answer<RunId>),
    Cancelled(RunId, Answer<()>),
    Changes(Comparison, Answer<Listed>),
    /// By the key of the entry.
    File(Comparison, String, Answer<Box<DiffFile>>),
    /// What stands beside lines in a run's review.
    Notes(RunId, Answer<Notes>),
    Colours(Piece),
    Detail(RunId, Suite, CaseId, Answer<Option<CaseDetail>>),
    /// The cases of each run; none where it cannot be read.
    Outcomes(Vec<(RunId, Answer<Vec<GradedCase>>)>),
    /// Lines around a frame: the number of the first one, and the text.
    Excerpt(CaseId, usize, Answer<Option<Excerpt>>),
    /// By task.
    Acceptance(String, Answer<Box<Matrix>>),
    /// By the key of the cell.
    CellDetail(String, CaseId, Answer<Option<CaseDetail>>),
    /// By path: a file beside a cell's traceback.
    Source(String, Answer<Option<Vec<u8>>>),
    VerifyStarted(VerifyRequest, Answer<RunId>),
    AgentLog(LogKey, Answer<Option<LogInfo>>),
    Outputs(RunId, Answer<Vec<LogKey>>),
    Log(LogKey, Answer<LogDelta>),
    /// A slice of the log is looked through.
    LogScanned(Scanned),

    Changed(Change),
    Gpu(GpuView),
}

/// New and replaced entries of a log.
#[derive(Clone, Debug, Default)]
pub struct LogDelta {
    /// Index and entry; an index at the end appends.
    pub entries: Vec<(usize, Entry)>,
    /// How many entries there are now; what stands after them was an unfinished line.
    pub len: usize,
    /// Of the wish that it answers.
    pub ticket: u64,
    /// These are all: the log was rewritten.
    pub replaced: bool,
    /// More is there to read now.
    pub more: bool,
    /// The rest is not shown, because it is beyond the reader's bound.
    pub cut: bool,
    pub figures: Option<Figures>,
    /// Bytes of the log between which the entries stand, whole lines, and of all of it.
    pub from: u64,
    pub to: u64,
    pub size: u64,
}

/// Some lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    pub path: String,
    /// Number of the first line, from 1.
    pub from: u32,
    pub lines: Vec<String>,
}
