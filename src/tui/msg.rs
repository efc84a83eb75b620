//! What comes into [`super::update::update`]: keys, answers, changes, samples.

use crate::agent::trace::Entry;
use crate::domain::case::CaseDetail;
use crate::domain::{CaseId, CaseResult, RunId, Suite};

use super::agent_offer::{AgentOffer, AgentRequest};
use super::backend::{
    Answer, Change, FileChange, GradeRequest, JournalChunk, LogInfo, LogKey, RunSummary, TaskList,
};
use super::gpu_view::GpuView;
use super::highlight::Piece;
use super::keymap::Key;
use super::panes::diff::state::DiffFile;
use super::reading::Figures;
use super::state::Comparison;

#[derive(Clone, Debug)]
pub enum Msg {
    Key(Key),
    Paste(String),
    Resize(u16, u16),
    /// The footer's message has stood long enough.
    ToastOver,
    /// A second passed while a run lives and is seen.
    Tick,
    /// The terminal came back after a stop: everything must be drawn anew.
    Resumed,
    /// What the terminal refused to do, in words.
    Toast(String),

    Tasks(Answer<TaskList>),
    Runs(Answer<Vec<RunSummary>>),
    Run(RunId, Answer<Option<RunSummary>>),
    Journal(RunId, Answer<JournalChunk>),
    Calibration(RunId, Answer<Vec<(Suite, CaseResult)>>),
    Started(GradeRequest, Answer<RunId>),
    /// By task.
    Agents(String, Answer<AgentOffer>),
    AgentStarted(AgentRequest, Answer<RunId>),
    Cancelled(RunId, Answer<()>),
    Changes(Comparison, Answer<Vec<FileChange>>),
    File(Comparison, String, Answer<Box<DiffFile>>),
    Colours(Piece),
    Detail(RunId, Suite, CaseId, Answer<Option<CaseDetail>>),
    /// Lines around a frame: the number of the first one, and the text.
    Excerpt(CaseId, usize, Answer<Option<Excerpt>>),
    AgentLog(LogKey, Answer<Option<LogInfo>>),
    Outputs(RunId, Answer<Vec<LogKey>>),
    Log(LogKey, Answer<LogDelta>),

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
    /// These are all: the log was rewritten.
    pub replaced: bool,
    /// More is there to read now.
    pub more: bool,
    /// The rest is not shown, because it is beyond the reader's bound.
    pub cut: bool,
    pub figures: Option<Figures>,
}

/// Some lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    pub path: String,
    /// Number of the first line, from 1.
    pub from: u32,
    pub lines: Vec<String>,
}
