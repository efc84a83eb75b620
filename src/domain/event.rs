//! Facts of a run: the lines of `journal.jsonl`. State is a fold over them; nothing else is
//! authoritative (DESIGN.md, On disk).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::acceptance::{Rule, Standing};
use super::submission::LogFormat;
use super::{
    AgentEnd, CaptureNote, CaseId, CaseResult, Cause, EngineKind, Evidence, Grade, MutationCounts,
    NetworkMode, Sign, Subject, Suite, Usage,
};

/// Version of the journal's shape.
pub const JOURNAL_VERSION: u32 = 1;

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub v: u32,
    pub seq: u64,
    /// Seconds since the epoch.
    pub at_s: f64,
    #[serde(flatten)]
    pub event: Event,
}

/// A stage of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The environment, the base snapshot and the engine are made ready.
    Prepare,
    /// Gold runs once, because nothing is known for this key yet.
    Calibrate,
    /// The agent works on a copy of base.
    Agent,
    /// Its patch is made from the trees.
    Capture,
    Apply,
    Build,
    Official,
    Probes,
    Judge,
    /// Every patch of the task on both suites.
    Verify,
    /// Every mutant of gold on them.
    Mutants,
}

impl Stage {
    /// In the order in which a run has them.
    pub const ALL: [Self; 11] = [
        Self::Prepare,
        Self::Calibrate,
        Self::Agent,
        Self::Capture,
        Self::Apply,
        Self::Build,
        Self::Official,
        Self::Probes,
        Self::Judge,
        Self::Verify,
        Self::Mutants,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Stage::Prepare => "prepare",
            Stage::Calibrate => "calibrate",
            Stage::Agent => "agent",
            Stage::Capture => "capture",
            Stage::Apply => "apply",
            Stage::Build => "build",
            Stage::Official => "official",
            Stage::Probes => "probes",
            Stage::Judge => "judge",
            Stage::Verify => "verify",
            Stage::Mutants => "mutants",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Info,
    Warn,
    Error,
}

/// What happened. New kinds may be added; a reader keeps what it does not know as
/// [`Event::Unknown`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    RunStarted {
        pid: u32,
        /// Start time of that process in clock ticks since boot: a reused pid is not it.
        pid_start: u64,
        host: String,
        boot: String,
        version: String,
        /// How often a worker took this run up: 1 at first.
        attempt: u32,
    },
    EngineChosen {
        engine: EngineKind,
        /// The image, where the engine has one: its name and what names its content.
        #[serde(default)]
        image: Option<String>,
        why: String,
    },
    EnvironmentReady {
        hash: String,
        built: bool,
        python: String,
    },
    /// The run waits until others give GPUs back.
    GpusWaited {
        wanted: u32,
        why: String,
    },
    /// The GPUs that the run holds from now on.
    GpusTaken {
        driver: String,
        gpus: Vec<GpuTaken>,
        /// The node's settings that processes inside are told (`NCCL_…`).
        settings: BTreeMap<String, String>,
    },
    /// What was on them when the run was over, before they were given back.
    GpusReleased {
        gpus: Vec<GpuLeft>,
    },
    StageStarted {
        stage: Stage,
        subject: Subject,
    },
    StageFinished {
        stage: Stage,
        subject: Subject,
        duration_s: f64,
    },
    /// The worker's own words; may quote untrusted text.
    Log {
        level: Level,
        text: String,
    },
    /// The agent is at work; its log is `agent.log`.
    AgentStarted {
        agent: String,
        version: Option<String>,
        model: Option<String>,
        format: LogFormat,
        limit_s: f64,
        network: NetworkMode,
        /// Hosts that the network lets through; of an allow-list only.
        hosts: Vec<String>,
        /// Variables that were passed, by name.
        passed: Vec<String>,
        prompt: String,
        prompt_sha256: String,
    },
    /// The agent's sandbox asked for a host that is not on its list; told once a host.
    HostRefused {
        host: String,
    },
    /// What it has changed so far, from its tree.
    AgentChanged {
        files: usize,
        added: usize,
        deleted: usize,
    },
    /// Its tokens so far, out of its own record of the session, where its stream tells none.
    AgentUsage {
        usage: Usage,
    },
    AgentEnded {
        end: AgentEnd,
        duration_s: f64,
        /// Processes that it left behind and that were killed; 0 are left.
        killed: u32,
        log_bytes: u64,
        /// Output beyond what is kept of a log.
        dropped_bytes: u64,
    },
    /// What its log tells of itself: the model that answered, the program's version.
    AgentNamed {
        model: Option<String>,
        version: Option<String>,
    },
    /// The agent's patch, made from the trees: `submission.patch`.
    Captured {
        sha256: String,
        bytes: u64,
        files: Vec<PatchedFile>,
        notes: Vec<CaptureNote>,
        /// Notes that are not listed because there are too many.
        more_notes: usize,
    },
    PatchApplied {
        subject: Subject,
        /// `exact`, `offset` or `three-way`; `edits` by symbol; `commit` for gold of a repository.
        method: String,
        files: Vec<PatchedFile>,
        /// Git id of the tree that it gives.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
    },
    PatchRefused {
        cause: Cause,
        message: String,
    },
    /// A file of the submission that was replaced, removed or restored before the tests ran.
    Restored {
        subject: Subject,
        suite: Suite,
        path: String,
        action: String,
    },
    Collected {
        subject: Subject,
        suite: Suite,
        cases: Vec<CaseId>,
        /// 1 for the first group of processes, higher after a continuation.
        group: u32,
    },
    CaseStarted {
        subject: Subject,
        suite: Suite,
        id: CaseId,
        rank: u32,
    },
    CaseFinished {
        subject: Subject,
        suite: Suite,
        result: CaseResult,
    },
    /// A group of processes ended before its cases did; the remaining ones run in a fresh group.
    Continued {
        subject: Subject,
        suite: Suite,
        group: u32,
        reason: String,
        remaining: usize,
    },
    SuiteFinished {
        subject: Subject,
        suite: Suite,
        collected: usize,
        passed: usize,
        duration_s: f64,
        /// Processes found alive after the end and killed; 0 are left.
        killed: u32,
    },
    /// Must-fail twins: the same cases with a `raise` in each body; none may pass.
    Twins {
        suite: Suite,
        run: usize,
        passed: Vec<CaseId>,
    },
    /// Two reports of one case say different things: the badge `suspect`.
    Disagreed {
        subject: Subject,
        suite: Suite,
        rank: u32,
        case: Option<CaseId>,
        detail: String,
    },
    /// The submission exchanged something that decides outcomes, and gold does not.
    Deviated {
        suite: Suite,
        #[serde(flatten)]
        evidence: Evidence,
    },
    /// What the submission's patch holds that gold's does not: strong signs give the badge
    /// `suspect`, weak ones are only listed.
    Audited {
        strong: Vec<Sign>,
        weak: Vec<Sign>,
    },
    /// The calibration that the grade rests on.
    Calibrated {
        /// Absent in journals from before it was told.
        #[serde(default)]
        suite: Option<Suite>,
        key: String,
        fresh: bool,
        collected: usize,
        passed: usize,
    },
    Graded {
        grade: Box<Grade>,
    },
    /// Gold has run as often as was asked; the whole is in the run's `calibration.json`.
    CalibrationMade {
        suites: BTreeMap<Suite, CalibrationCounts>,
    },
    /// A patch on a suite, once, in a verify run.
    CellFinished {
        patch: String,
        suite: Suite,
        run: u32,
        /// All of it was known already.
        kept: bool,
        passed: usize,
        collected: usize,
        duration_s: f64,
        /// Keys of its cells in the home, a test file each. Absent in journals from before they
        /// were told.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cells: Vec<String>,
    },
    /// A run that watches its task saw an edit, and verifies again.
    RoundStarted {
        /// From 2: the first is the run's own.
        round: u32,
        /// What changed, by paths in the task's folder.
        changed: Vec<String>,
        /// When the newest of it was written, in seconds since the epoch.
        edited_s: f64,
    },
    /// Every cell of a round is known again; what came of it is told by `verified` before this.
    RoundFinished {
        round: u32,
        /// Patches on suites that ran, and those that were known.
        ran: usize,
        kept: usize,
        /// From the edit to the last cell.
        answer_s: f64,
        /// From the edit to gold's runs as a whole, where the answer was provisional until then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        confirmed_s: Option<f64>,
    },
    /// The rule by cells of which gold's ran in parts: nothing is recorded before `verified`, which
    /// may say otherwise.
    Provisional {
        standing: Standing,
        broken: Vec<Rule>,
        revise: usize,
    },
    /// The acceptance rule is judged; the whole is in the run's `acceptance.json`.
    Verified {
        standing: Standing,
        broken: Vec<Rule>,
        revise: usize,
        warnings: usize,
    },
    /// Mutants are graded; the whole is in the run's `mutation.json`.
    MutantsGraded {
        counts: MutationCounts,
    },
    Fault {
        stage: Option<Stage>,
        message: String,
    },
    Cancelled {
        by: String,
    },
    RunFinished {
        /// The meaning of every subcommand's exit code: 0 yes, 1 no, 2 input, 3 machinery.
        exit: u8,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuTaken {
    pub index: u32,
    pub uuid: String,
    pub name: String,
    /// When it was taken; unknown where the driver does not tell.
    pub memory_used_bytes: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuLeft {
    pub uuid: String,
    pub memory_used_bytes: Option<u64>,
    /// Processes that still compute there; unknown where the driver does not tell.
    pub processes: Option<u32>,
}

/// `|C|`, `|G|`, and what differs between gold's runs or is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CalibrationCounts {
    pub runs: u32,
    pub ranks: u32,
    pub collected: usize,
    pub passed: usize,
    pub flaky: usize,
    pub skipped: usize,
}

/// One file that a patch touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchedFile {
    pub path: String,
    /// `added`, `deleted`, `modified`, `renamed`, `mode`.
    pub change: String,
    pub added: usize,
    pub deleted: usize,
}
