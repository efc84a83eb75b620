//! What a suite run is asked, and what comes of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::waiting::Waiting;
use crate::domain::task::{LimitsSpec, SuiteSpec};
use crate::domain::{CaseId, CaseResult, Deviation, Discrepancy, Subject, Suite};
use crate::engine::{EngineError, Sandbox};

/// One suite on one subject.
#[derive(Clone, Debug)]
pub struct SuiteRun {
    pub subject: Subject,
    pub suite: Suite,
    /// The interpreter, as the sandbox sees it.
    pub python: PathBuf,
    /// The work tree, as the sandbox sees it.
    pub worktree: PathBuf,
    /// Put on the module path, relative to the work tree.
    pub pythonpath: Vec<String>,
    /// What pytest is given, relative to the work tree.
    pub paths: Vec<String>,
    /// More arguments for pytest.
    pub args: Vec<String>,
    pub ranks: u32,
    /// On top of the sandbox's environment.
    pub env: BTreeMap<String, String>,
    /// The cases that gold collects: those that do not turn up are `missing`.
    pub expected: Option<Vec<CaseId>>,
    /// Only these cases; none: all that are collected.
    pub only: Option<Vec<CaseId>>,
    /// The whole suite, all groups of processes together.
    pub limit: Duration,
    /// One case, from the start of its setup on the slowest rank to the end of its teardown on all.
    pub case_limit: Duration,
    /// From the start of a group until every rank has its list of cases.
    pub collect_limit: Duration,
    /// The run directory that takes `cases/` and `output/`; none: nothing is written.
    pub record: Option<PathBuf>,
    /// Output kept of each rank, over all groups.
    pub output_bytes: u64,
}

/// Collection may take as long as the suite, but not longer than this.
const LONGEST_COLLECTION: Duration = Duration::from_secs(120);

impl SuiteRun {
    /// A run of `spec` with its limits; `slowest_s`: gold's slowest case, where it is known.
    pub fn of(
        (subject, suite): (Subject, Suite),
        spec: &SuiteSpec,
        limits: &LimitsSpec,
        slowest_s: Option<f64>,
    ) -> Self {
        let limit = seconds(spec.limit_s);
        let case_limit = spec
            .case_limit_s
            .map_or_else(|| default_case_limit(slowest_s), seconds);
        let paths = if spec.paths.is_empty() {
            vec![spec.into.clone()]
        } else {
            spec.paths.clone()
        };
        Self {
            subject,
            suite,
            python: PathBuf::new(),
            worktree: PathBuf::new(),
            pythonpath: vec![".".into()],
            paths,
            args: spec.args.clone(),
            ranks: spec.ranks.max(1),
            env: BTreeMap::new(),
            expected: None,
            only: None,
            limit,
            case_limit: case_limit.min(limit),
            collect_limit: limit.min(LONGEST_COLLECTION),
            record: None,
            output_bytes: limits.output_mib << 20,
        }
    }
}

impl SuiteRun {
    /// Whether a case that is collected is to run.
    pub fn chosen(&self, id: &CaseId) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(id))
    }
}

/// max(60 s, 10x gold's slowest case) (DESIGN.md, The judge's mechanics).
pub fn default_case_limit(slowest_s: Option<f64>) -> Duration {
    seconds((10.0 * slowest_s.unwrap_or(0.0)).max(60.0))
}

/// Any number becomes a duration: nonsense becomes zero, and a year is long enough.
fn seconds(s: f64) -> Duration {
    const YEAR: f64 = 365.0 * 86_400.0;
    Duration::from_secs_f64(if s.is_nan() { 0.0 } else { s.clamp(0.0, YEAR) })
}

/// What became of a suite.
#[derive(Clone, Debug, Default)]
pub struct SuiteOutcome {
    /// All that was collected, in order, over all groups.
    pub collected: Vec<CaseId>,
    /// One for each case collected or expected; and one, named by the file, for a file whose
    /// collection failed and of which no case is known.
    pub results: Vec<CaseResult>,
    pub discrepancies: Vec<Discrepancy>,
    /// What was exchanged in the process that reports.
    pub deviations: Vec<Deviation>,
    /// Groups of processes that were started.
    pub groups: u32,
    /// Processes found alive after the ranks had ended, and killed; 0 are left.
    pub killed: u32,
    pub duration_s: f64,
    /// Bytes of output that were not kept.
    pub output_dropped: u64,
}

impl SuiteOutcome {
    pub fn passed(&self) -> usize {
        self.results.iter().filter(|r| r.outcome.passed()).count()
    }
}

/// Why a suite has no outcome: never the submission's doing.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("the sandbox ended by itself: {0}")]
    SandboxDied(String),
    /// pytest cannot be used in this environment; the cause `environment`.
    #[error("the environment cannot run the suite: {0}")]
    Environment(String),
    #[error("{doing} {path}: {source}")]
    Io {
        doing: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("no randomness: {0}")]
    Random(String),
}

/// Starts sandboxes for a suite: one, and another when a limit ended it.
pub trait Sandboxes {
    fn start(&mut self) -> impl Future<Output = Result<Sandbox, EngineError>> + Send;

    /// One whose ranks wait for their order, for the first group; asked once, before the first start.
    fn waiting(&mut self) -> Option<Waiting> {
        None
    }

    /// Ends one in which nothing runs any more.
    fn over(&mut self, sandbox: Sandbox) -> impl Future<Output = ()> + Send {
        sandbox.close()
    }
}
