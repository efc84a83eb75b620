//! The seam between the workbench and the world: everything that it reads or asks for.
//!
//! The workbench never touches a run directory, a tree or a driver itself. It calls a
//! [`Backend`], whose methods may block: they run on the blocking pool, never on the thread that
//! draws, and the newest request of a kind replaces the one that still waits ([`super::jobs`]).
//! An implementation must be safe to call from several threads at once.

use std::any::Any;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::domain::case::CaseDetail;
use crate::domain::manifest::Again;
use crate::domain::notes::{LineNote, Notes};
use crate::domain::submission::LogFormat;
use crate::domain::{
    Badge, CaseId, CaseResult, Cause, EngineChoice, EngineKind, GradedCase, Record, RunId, Source,
    Stage, Standing, Subject, Suite, SuiteChoice, Task, Verdict, Work,
};

use crate::report::acceptance::Matrix;

use super::agent_offer::{AgentOffer, AgentRequest};
use super::gpu_view::GpuView;
use super::panes::tasks::status::TaskStanding;

/// Why a request could not be met: one or two sentences that name the place and the mend.
/// May quote untrusted text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BackendError(pub String);

impl BackendError {
    pub fn new(message: impl std::fmt::Display) -> Self {
        Self(message.to_string())
    }
}

pub type Answer<T> = Result<T, BackendError>;

/// The tasks that were found, and those that could not be loaded.
#[derive(Clone, Debug, Default)]
pub struct TaskList {
    /// Where they were looked for, as the header shows it.
    pub dir: PathBuf,
    pub tasks: Vec<Arc<Task>>,
    pub problems: Vec<TaskProblem>,
    /// By id, in two words: the task's repository is not on this machine.
    pub missing: BTreeMap<String, &'static str>,
}

/// A task folder that is not usable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskProblem {
    /// The folder's name.
    pub id: String,
    /// File, line and mend.
    pub message: String,
}

/// Whether somebody works on a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RunStatus {
    /// Written, but no worker took it up yet.
    #[default]
    Waiting,
    Running,
    Finished,
    /// Its journal ends mid-way and its worker is gone.
    Interrupted,
    Cancelled,
}

impl RunStatus {
    /// A worker holds the run, or soon will.
    pub fn live(self) -> bool {
        matches!(self, RunStatus::Waiting | RunStatus::Running)
    }
}

/// How many cases of a suite passed so far, of how many collected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub passed: usize,
    pub collected: usize,
}

/// Since when an agent works, and how long it may.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AgentTime {
    pub since_s: f64,
    pub limit_s: f64,
}

/// A run as lists show it. Cheap to make: a thousand of them come in one answer.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    pub id: RunId,
    pub task: String,
    pub source: Source,
    /// The run whose cases are run again here.
    pub parent: Option<RunId>,
    /// How many cases were asked for; 0: all of the suites.
    pub only: usize,
    /// Seconds since the epoch, like every time here.
    pub created_s: f64,
    pub started_s: Option<f64>,
    pub ended_s: Option<f64>,
    pub status: RunStatus,
    pub stage: Option<(Stage, Subject)>,
    /// The agent's time, while it works.
    pub agent: Option<AgentTime>,
    /// Absent: not chosen yet.
    pub engine: Option<EngineKind>,
    /// Others hold the GPUs that it needs.
    pub waits_for_gpus: bool,
    /// A patch is graded, or the task itself is looked at.
    pub work: Work,
    /// What a verify run came to.
    pub standing: Option<Standing>,
    pub verdict: Option<Verdict>,
    pub cause: Option<Cause>,
    pub badges: Vec<Badge>,
    /// The submission's counts (gold's where gold is what runs); absent: not begun, or not asked.
    pub official: Option<Count>,
    pub probes: Option<Count>,
    pub fault: Option<String>,
}

/// A piece of a run's journal.
#[derive(Clone, Debug, Default)]
pub struct JournalChunk {
    pub records: Vec<Record>,
    /// Byte offset to ask from next time: after the last whole line.
    pub next: u64,
    pub status: RunStatus,
    /// The journal shrank or was replaced: forget what was folded and start from these records.
    pub restarted: bool,
}

/// A text file that grows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LogKey {
    /// A submission's recorded agent log.
    Agent { task: String, submission: String },
    /// The log of the agent that works, or worked, in a run: `agent.log`. It may be rewritten.
    Run { run: RunId },
    /// When the pieces of [`LogKey::Run`] came: lines of `milliseconds bytes`.
    Times { run: RunId },
    /// The log of an earlier agent in the same run, whose time began anew: `agent.<attempt>.log`.
    Attempt { run: RunId, attempt: u32 },
    /// When its pieces came.
    AttemptTimes { run: RunId, attempt: u32 },
    /// What else an agent's programs wrote: `output/agent-<name>.log`.
    Beside { run: RunId, name: String },
    /// What a suite's processes printed: `output/<subject>-<suite>-<rank>.log`.
    Output {
        run: RunId,
        subject: Subject,
        suite: Suite,
        rank: u32,
    },
}

impl LogKey {
    /// Where it is noted when its pieces came.
    pub fn times(&self) -> Option<LogKey> {
        match self {
            LogKey::Run { run } => Some(LogKey::Times { run: run.clone() }),
            LogKey::Attempt { run, attempt } => Some(LogKey::AttemptTimes {
                run: run.clone(),
                attempt: *attempt,
            }),
            _ => None,
        }
    }
}

/// Raw bytes of a [`LogKey`].
#[derive(Clone, Debug, Default)]
pub struct LogChunk {
    pub bytes: Vec<u8>,
    pub next: u64,
    /// Nothing more is there now.
    pub at_end: bool,
    /// When the file was last written; `None`: there is no file now.
    pub written_s: Option<f64>,
    /// Its size when it was read.
    pub size: u64,
}

/// What an agent log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogInfo {
    pub format: LogFormat,
    pub bytes: u64,
}

/// One file that differs between two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// In the right tree; for a deleted file, in the left one.
    pub path: String,
    /// In the left tree, where it is another.
    pub old_path: Option<String>,
    pub kind: ChangeKind,
    pub added: usize,
    pub deleted: usize,
    pub binary: bool,
    /// Modes of both sides, where they differ.
    pub modes: Option<[u32; 2]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    Added,
    Deleted,
    Modified,
    Renamed,
    Mode,
    /// The same on both sides; listed because both changed it from base.
    Same,
}

/// Both sides of a file; absent where the tree does not have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilePair {
    pub left: Option<Vec<u8>>,
    pub right: Option<Vec<u8>>,
}

/// What to grade.
#[derive(Clone, Debug, PartialEq)]
pub struct GradeRequest {
    pub task: String,
    pub source: Source,
    pub suites: SuiteChoice,
    /// Only these cases; empty: all.
    pub only: Vec<CaseId>,
    /// The run whose cases are run again.
    pub parent: Option<RunId>,
    pub engine: EngineChoice,
}

/// A shell in a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellCommand {
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// What reproduces the case, to be copied.
    pub line: String,
}

/// What of a task is to be verified.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifyRequest {
    pub task: String,
    /// Of gold.
    pub runs: u32,
    /// Cells that run again though they are known.
    pub again: Vec<Again>,
    pub engine: EngineChoice,
}

/// Something in the store or the catalog changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// A run appeared or went.
    Runs,
    /// This run's folder changed.
    Run(RunId),
    Tasks,
}

/// Called from any thread; must return at once.
pub type Sink<T> = Box<dyn Fn(T) + Send + Sync>;

/// Keeps something going until it is dropped.
pub struct Guard(#[allow(dead_code)] Box<dyn Any + Send>);

impl Guard {
    pub fn new(inner: impl Any + Send) -> Self {
        Self(Box::new(inner))
    }
}

/// What the workbench asks of the world.
pub trait Backend: Send + Sync + 'static {
    /// One short phrase for the header: the home.
    fn label(&self) -> String;

    fn tasks(&self) -> Answer<TaskList>;

    /// How the judges of all tasks stand: reads their folders.
    fn standings(&self) -> Answer<BTreeMap<String, TaskStanding>>;

    /// All runs of the home, in any order.
    fn runs(&self) -> Answer<Vec<RunSummary>>;

    /// One run, after it changed; `None`: it is gone.
    fn run(&self, run: &RunId) -> Answer<Option<RunSummary>>;

    /// The whole lines of a run's journal from byte `from` on.
    fn journal(&self, run: &RunId, from: u64) -> Answer<JournalChunk>;

    /// Gold's outcomes on record under a calibration key, for a run that did not run gold itself.
    fn calibration(&self, key: &str) -> Answer<Vec<(Suite, CaseResult)>>;

    /// What verify runs of a task found, and what is known of one that goes on; `runs`: the
    /// task's verify runs, newest first.
    fn acceptance(&self, task: &str, runs: &[RunId]) -> Answer<Box<Matrix>>;

    /// The long story of a case in a cell, by the cell's key; `None`: nothing was kept.
    fn cell_detail(&self, key: &str, case: &CaseId) -> Answer<Option<CaseDetail>>;

    /// Starts a run that verifies a task.
    fn verify(&self, request: &VerifyRequest) -> Answer<RunId>;

    /// Writes a run directory and starts its worker.
    fn grade(&self, request: &GradeRequest) -> Answer<RunId>;

    /// The agents that can be run on a task, those that cannot with the reason.
    fn agents(&self, task: &str) -> Answer<AgentOffer>;

    /// Starts a run in which an agent works and what it leaves is graded.
    fn run_agent(&self, request: &AgentRequest) -> Answer<RunId>;

    fn cancel(&self, run: &RunId) -> Answer<()>;

    /// How `infradev shell` is started with these words.
    fn shell(&self, words: &[String]) -> ShellCommand;

    /// The files that differ between two solutions of a task, in the order of their paths.
    fn changes(&self, task: &str, left: &Source, right: &Source) -> Answer<Vec<FileChange>>;

    /// One file of a solution's tree; `None`: not there.
    fn file(&self, task: &str, source: &Source, path: &str) -> Answer<Option<Vec<u8>>>;

    /// Several files of a solution's tree, in the order of their paths; `None`: not there.
    fn files(&self, task: &str, source: &Source, paths: &[String]) -> Answer<Vec<Option<Vec<u8>>>>;

    /// What reviewers wrote beside lines, kept with a run.
    fn notes(&self, run: &RunId) -> Answer<Notes>;

    /// Keeps a note in place of the one on its line, an empty one in place of none; answers with
    /// all of the run's. Who wrote it is not for the caller to say.
    fn keep_note(&self, run: &RunId, note: &LineNote) -> Answer<Notes>;

    /// One file of a suite's tree, by its path in the work tree; `None`: not there.
    fn test_file(&self, task: &str, suite: Suite, path: &str) -> Answer<Option<Vec<u8>>>;

    /// The cases that a run's verdict rests on; none of a run without one.
    fn outcomes(&self, run: &RunId) -> Answer<Vec<GradedCase>>;

    /// The long story of a finished case; `None`: nothing was kept.
    fn case_detail(
        &self,
        run: &RunId,
        subject: Subject,
        suite: Suite,
        result: &CaseResult,
    ) -> Answer<Option<CaseDetail>>;

    /// Format and size of a submission's or a run's agent log; `None`: there is none.
    fn agent_log(&self, log: &LogKey) -> Answer<Option<LogInfo>>;

    /// The output files that a run has so far, in the order in which they were made.
    fn outputs(&self, run: &RunId) -> Answer<Vec<LogKey>>;

    /// At most `max` bytes from `from` on.
    fn read_log(&self, log: &LogKey, from: u64, max: usize) -> Answer<LogChunk>;

    /// Tells of changes until the guard is dropped, without polling.
    fn watch(&self, sink: Sink<Change>) -> Answer<Guard>;

    /// Samples GPUs and the machine about once a second until the guard is dropped.
    fn sample(&self, sink: Sink<GpuView>) -> Answer<Guard>;
}
