//! From what somebody wants of an agent to what a run is told: the adapter, the prompt, the limit,
//! the recording. What is missing is said here, before there is a run.

use std::path::{Path, PathBuf};

use super::prompt::{FULL, PromptError, prompt};
use crate::agent::adapter::{AdapterError, Adapters, PassError, Passed};
use crate::agent::trace;
use crate::domain::submission::LogFormat;
use crate::domain::{AgentOrder, AgentSpec, NetworkMode, Replay, Submission, Task};
use crate::store::{Home, RunDir, StoreError};
use crate::workspace::Mirrors;

/// The agent that replays a recording.
pub const REPLAY: &str = "replay";

/// An agent's adapter and prompt, and what is asked of it.
#[derive(Clone, Debug)]
pub struct AgentLaunch {
    pub spec: AgentSpec,
    /// The adapter's text, kept in the run as it is.
    pub text: String,
    /// Its locked requirements, where it has some.
    pub requirements: Option<String>,
    pub prompt: String,
    pub order: AgentOrder,
}

/// What somebody asks for; absent: the task's or the adapter's own.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentWish {
    pub agent: String,
    pub limit_s: Option<f64>,
    pub prompt: String,
    pub model: Option<String>,
    pub effort: Option<String>,
    /// On record only.
    pub skill: Option<String>,
    pub network: Option<NetworkMode>,
    /// `replay`: a submission of the task, a run, or a log file.
    pub recording: Option<String>,
    pub rate: Option<f64>,
}

impl AgentWish {
    /// An agent with everything else as it comes.
    pub fn of(agent: &str) -> Self {
        Self {
            agent: agent.into(),
            limit_s: None,
            prompt: FULL.into(),
            model: None,
            effort: None,
            skill: None,
            network: None,
            recording: None,
            rate: None,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum AgentLaunchError {
    #[error(transparent)]
    Adapter(#[from] AdapterError),
    #[error(transparent)]
    Pass(#[from] PassError),
    #[error("agent {agent} needs a model; name it with --model")]
    NoModel { agent: String },
    #[error(
        "agent {agent} cannot be told an effort: its adapter has no `effort` (the arguments that set one) and no variable with {{effort}}; add one, or leave --effort out"
    )]
    NoEffort { agent: String },
    #[error(transparent)]
    Prompt(#[from] PromptError),
    #[error("{path}: {source}")]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("`replay` needs a recording: --recording NAME of {known}, a run's id, or a log file")]
    NoRecording { known: String },
    #[error("--recording is for the agent `replay`, and {agent} is none")]
    NotReplay { agent: String },
    #[error("{what} has no log to replay")]
    NoLog { what: String },
    #[error("{path}: its content is no agent log that infradev knows")]
    UnknownLog { path: PathBuf },
    #[error("a rate must be a number of lines a second above 0, not {0}")]
    Rate(f64),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Everything that a run with an agent is told.
pub fn agent_launch(
    home: &Home,
    task: &Task,
    wish: &AgentWish,
) -> Result<AgentLaunch, AgentLaunchError> {
    let adapter = Adapters::new(home.agents()).find(&wish.agent)?;
    // a variable that is not set is told now, not by a worker
    Passed::resolve(&adapter.spec, |name| std::env::var_os(name))?;
    let names_model = adapter
        .spec
        .command
        .iter()
        .any(|word| word.contains("{model}"));
    if names_model && wish.model.is_none() && adapter.spec.model.is_none() {
        let agent = wish.agent.clone();
        return Err(AgentLaunchError::NoModel { agent });
    }
    // a recording's effort is what it was
    if wish.effort.is_some() && wish.agent != REPLAY && !adapter.spec.takes_effort() {
        let agent = wish.agent.clone();
        return Err(AgentLaunchError::NoEffort { agent });
    }
    let replay = if wish.agent == REPLAY {
        Some(recording(home, task, wish)?)
    } else if wish.recording.is_some() {
        let agent = wish.agent.clone();
        return Err(AgentLaunchError::NotReplay { agent });
    } else {
        None
    };
    let mirrors = Mirrors::from_env(Some(home.mirrors()));
    let minutes = f64::from(task.spec.limits.agent_minutes);
    Ok(AgentLaunch {
        prompt: prompt(task, &wish.prompt, &mirrors, &home.snapshots())?.text,
        order: AgentOrder {
            limit_s: wish.limit_s.unwrap_or(minutes * 60.0),
            prompt: wish.prompt.clone(),
            model: wish.model.clone(),
            effort: wish.effort.clone(),
            skill: wish.skill.clone(),
            network: wish.network,
            replay,
        },
        requirements: adapter.requirements()?,
        spec: adapter.spec,
        text: adapter.text,
    })
}

fn recording(home: &Home, task: &Task, wish: &AgentWish) -> Result<Replay, AgentLaunchError> {
    if let Some(rate) = wish.rate
        && !(rate > 0.0 && rate.is_finite())
    {
        return Err(AgentLaunchError::Rate(rate));
    }
    let logs = |s: &&Submission| s.spec.log.is_some();
    let Some(what) = &wish.recording else {
        let known: Vec<&str> = (task.submissions.iter().filter(logs))
            .map(|s| s.spec.name.as_str())
            .collect();
        return Err(AgentLaunchError::NoRecording {
            known: known.join(", "),
        });
    };
    let mut replay = if let Some(submission) = task.submission(what) {
        let log = submission.log_path();
        let log = log.ok_or_else(|| AgentLaunchError::NoLog { what: what.clone() })?;
        Replay {
            format: submission.spec.log_format.unwrap_or(LogFormat::Text),
            times: None,
            patch: submission.patch_path(),
            rate: None,
            log,
        }
    } else if Path::new(what).is_file() {
        let log = Path::new(what).to_path_buf();
        Replay {
            format: format_of(&log)?,
            times: None,
            patch: None,
            rate: None,
            log,
        }
    } else {
        of_run(&home.find(what)?)?
    };
    replay.rate = wish.rate;
    for path in [
        Some(&mut replay.log),
        replay.patch.as_mut(),
        replay.times.as_mut(),
    ]
    .into_iter()
    .flatten()
    {
        *path = path.canonicalize().map_err(|source| AgentLaunchError::Io {
            path: path.clone(),
            source,
        })?;
    }
    Ok(replay)
}

/// An earlier run of an agent.
fn of_run(run: &RunDir) -> Result<Replay, AgentLaunchError> {
    let what = format!("run {}", run.id());
    let state = run.state()?;
    let Some(agent) = state.agent.filter(|_| run.agent_log_path().is_file()) else {
        return Err(AgentLaunchError::NoLog { what });
    };
    let there = |path: PathBuf| path.is_file().then_some(path);
    Ok(Replay {
        log: run.agent_log_path(),
        format: agent.format,
        times: there(run.agent_times_path()),
        patch: there(run.patch_path()),
        rate: None,
    })
}

fn format_of(log: &Path) -> Result<LogFormat, AgentLaunchError> {
    use std::io::Read;
    let mut head = Vec::new();
    std::fs::File::open(log)
        .and_then(|file| file.take(trace::HEAD as u64).read_to_end(&mut head))
        .map_err(|source| AgentLaunchError::Io {
            path: log.to_path_buf(),
            source,
        })?;
    trace::detect(&head).ok_or_else(|| AgentLaunchError::UnknownLog {
        path: log.to_path_buf(),
    })
}
