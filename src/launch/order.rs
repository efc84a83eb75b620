//! From an order to a run directory with a worker on it.

use std::path::PathBuf;

use super::agent::AgentLaunch;
use super::local::{LaunchError, start_worker};
use crate::domain::{
    CalibrationChoice, CaseId, EngineChoice, Manifest, RunId, Source, Submission, SuiteChoice,
    Task, Work,
};
use crate::store::{Home, RunDir, StoreError, now_s};

/// What a new run is asked to do.
#[derive(Clone, Debug)]
pub struct Order {
    pub source: Source,
    pub work: Work,
    /// An agent that makes the patch first; the source is then what it leaves.
    pub agent: Option<AgentLaunch>,
    pub suites: SuiteChoice,
    pub engine: EngineChoice,
    /// Processes of every suite, where others are wanted than the task's own.
    pub ranks: Option<u32>,
    pub calibration: CalibrationChoice,
    /// Only these cases; empty: all.
    pub only: Vec<CaseId>,
    /// The run whose cases are run again.
    pub parent: Option<RunId>,
}

#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error("{path}: {source}; the patch must be a readable file")]
    Patch {
        path: PathBuf,
        source: std::io::Error,
    },
}

/// Writes a run's directory and starts its worker.
pub fn start(home: &Home, task: &Task, order: Order) -> Result<RunDir, OrderError> {
    let patch = patch_of(home, task, &order.source);
    if let Some(path) = &patch {
        // before there is a run: bad input leaves nothing behind
        readable(path).map_err(|source| OrderError::Patch {
            path: path.clone(),
            source,
        })?;
    }
    let run = RunDir::create(home, |id| Manifest {
        schema: 1,
        run: id.clone(),
        task: task.id().into(),
        task_dir: task.dir.clone(),
        source: match &order.agent {
            Some(agent) => Source::Agent {
                name: agent.spec.name.clone(),
                run: id,
            },
            None => order.source,
        },
        work: order.work,
        agent: order.agent.as_ref().map(|a| a.order.clone()),
        suites: order.suites,
        engine: order.engine,
        ranks: order.ranks,
        calibration: order.calibration,
        only: order.only,
        parent: order.parent,
        created_s: now_s(),
    })?;
    if let Some(path) = patch {
        // kept in the run: what was graded stays readable when the file changes later; symbol
        // edits stay TOML, the worker renders them against gold
        let edits = path.extension().is_some_and(|e| e == "toml");
        let to = if edits {
            run.edits_path()
        } else {
            run.patch_path()
        };
        std::fs::copy(&path, to).map_err(|source| OrderError::Patch { path, source })?;
    }
    if let Some(agent) = &order.agent {
        let kept = [
            (run.agent_path(), Some(&agent.text)),
            (run.prompt_path(), Some(&agent.prompt)),
            (run.agent_lock_path(), agent.requirements.as_ref()),
        ];
        for (path, text) in kept {
            let Some(text) = text else { continue };
            std::fs::write(&path, text).map_err(|source| StoreError::Io { path, source })?;
        }
    }
    start_worker(home, &run)?;
    Ok(run)
}

fn readable(path: &std::path::Path) -> std::io::Result<()> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("no plain file"));
    }
    std::fs::File::open(path).map(drop)
}

/// The file that is graded; none for base, and where the agent left none.
fn patch_of(home: &Home, task: &Task, source: &Source) -> Option<PathBuf> {
    match source {
        Source::Patch { file } => Some(file.clone()),
        Source::Submission { name } => task.submission(name).and_then(Submission::patch_path),
        Source::Gold => task.spec.gold.patch.as_ref().map(|p| task.path(p)),
        // what an agent left in an earlier run
        Source::Agent { run, .. } => Some(home.run(run).patch_path()),
        Source::Base => None,
    }
}
