//! Agents' part of runs, as the workbench asks for it.

use std::io::{Read, Seek, SeekFrom};

use crate::agent::adapter::{Adapters, Listed, Passed};
use crate::agent::replay::DEFAULT_RATE;
use crate::domain::submission::LogFormat;
use crate::domain::{
    AgentSpec, CalibrationChoice, NetworkMode, RunId, Source, Submission, SuiteChoice, Task, Work,
};
use crate::launch::{self, AgentWish, FULL, REPLAY};
use crate::store::{Home, RunDir, Summary};
use crate::tui::agent_offer::{AgentChoice, AgentOffer, AgentRequest, Recording};
use crate::tui::backend::{AgentTime, Answer, BackendError, LogInfo};

use super::backend::place;

/// Bytes that the last line of `agent.times` is in.
const LAST_LINE: u64 = 64;

/// A run's line, and its agent's time where one is at work.
pub fn summary(run: &RunDir) -> Answer<(Summary, Option<AgentTime>)> {
    if run.summary_path().exists() {
        let kept = Summary::of(run).map_err(BackendError::new)?;
        return Ok((kept, None));
    }
    let manifest = run.manifest().map_err(BackendError::new)?;
    let (state, status) = run.seen().map_err(BackendError::new)?;
    let agent = state.agent.as_ref().filter(|agent| agent.end.is_none());
    let time = agent.map(|agent| AgentTime {
        since_s: agent.since_s,
        limit_s: agent.limit_s,
    });
    let summary = Summary::from_state(&manifest, &state, status);
    Ok((summary, time.filter(|_| status.live())))
}

/// Format and size of the log that a submission came with.
pub fn recorded(submission: &Submission) -> Answer<Option<LogInfo>> {
    let Some(path) = submission.log_path() else {
        return Ok(None);
    };
    let meta = std::fs::metadata(&path).map_err(|e| place(&path, &e))?;
    Ok(Some(LogInfo {
        format: submission.spec.log_format.unwrap_or(LogFormat::Text),
        bytes: meta.len(),
    }))
}

/// Format and size of the log that an agent wrote in a run.
pub fn kept(run: &RunDir) -> Option<LogInfo> {
    // a run whose agent never wrote has none
    let meta = std::fs::metadata(run.agent_log_path()).ok()?;
    let replayed = run
        .manifest()
        .ok()
        .and_then(|manifest| manifest.agent)
        .and_then(|order| order.replay)
        .map(|replay| replay.format);
    let format = replayed.or_else(|| {
        let text = std::fs::read_to_string(run.agent_path()).ok()?;
        let spec: AgentSpec = toml::from_str(&text).ok()?;
        Some(spec.format)
    });
    Some(LogInfo {
        format: format.unwrap_or(LogFormat::Text),
        bytes: meta.len(),
    })
}

/// Says in plain words that an agent's changes were never captured.
pub fn left_a_patch(home: &Home, source: &Source) -> Answer<()> {
    match source {
        Source::Agent { run, .. } if !home.run(run).patch_path().exists() => {
            Err(BackendError::new(
                "no patch was captured: the run ended before its agent's changes were made one",
            ))
        }
        _ => Ok(()),
    }
}

/// The agents that can be run on a task, and what can be replayed for it.
pub fn offer(home: &Home, task: &Task) -> Answer<AgentOffer> {
    let listed = Adapters::new(home.agents())
        .list()
        .map_err(BackendError::new)?;
    let variants = launch::variants(task);
    Ok(AgentOffer {
        agents: listed.into_iter().map(choice).collect(),
        variant: variants.iter().position(|v| v == FULL).unwrap_or(0),
        variants,
        limit_s: f64::from(task.spec.limits.agent_minutes) * 60.0,
        recordings: recordings(home, task)?,
        rate: DEFAULT_RATE,
    })
}

fn choice(listed: Listed) -> AgentChoice {
    let Some(adapter) = listed.adapter else {
        let problems: Vec<String> = listed.problems.iter().map(ToString::to_string).collect();
        return AgentChoice {
            name: listed.name,
            version: None,
            summary: String::new(),
            network: NetworkMode::None,
            model: None,
            takes_model: false,
            replays: false,
            missing: Some(problems.join("\n")),
        };
    };
    let spec = adapter.spec;
    let missing = Passed::resolve(&spec, |name| std::env::var_os(name)).err();
    let takes_model = spec
        .command
        .iter()
        .chain(spec.env.set.values())
        .any(|text| text.contains("{model}"));
    AgentChoice {
        replays: spec.name == REPLAY,
        missing: missing.map(|error| error.to_string()),
        takes_model,
        network: spec.network.mode,
        name: spec.name,
        version: spec.version,
        summary: spec.summary,
        model: spec.model,
    }
}

/// Submissions with a log, then runs in which an agent wrote one, newest first.
fn recordings(home: &Home, task: &Task) -> Answer<Vec<Recording>> {
    let mut found = Vec::new();
    for submission in &task.submissions {
        if let Some(path) = submission.log_path() {
            let meta = std::fs::metadata(&path).map_err(|e| place(&path, &e))?;
            found.push(Recording {
                what: submission.spec.name.clone(),
                who: format!("{} · {}", submission.spec.agent, submission.spec.model),
                created_s: None,
                bytes: meta.len(),
                duration_s: None,
            });
        }
    }
    for run in home.list().map_err(BackendError::new)?.iter().rev() {
        // a broken run does not hide the others
        let Ok(manifest) = run.manifest() else {
            continue;
        };
        let Source::Agent { name, .. } = manifest.source else {
            continue;
        };
        // an earlier run's patch graded again has no log of its own
        let log = std::fs::metadata(run.agent_log_path());
        if let Ok(log) = log
            && manifest.task == task.id()
        {
            found.push(Recording {
                what: manifest.run.0,
                who: name,
                created_s: Some(manifest.created_s),
                bytes: log.len(),
                duration_s: duration_s(run),
            });
        }
    }
    Ok(found)
}

/// When the last piece of a log came, in seconds after the agent began.
fn duration_s(run: &RunDir) -> Option<f64> {
    let path = run.agent_times_path();
    let mut file = std::fs::File::open(path).ok()?;
    let end = file.seek(SeekFrom::End(0)).ok()?;
    file.seek(SeekFrom::Start(end.saturating_sub(LAST_LINE)))
        .ok()?;
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    let (milliseconds, _) = text.trim_end().lines().next_back()?.split_once(' ')?;
    Some(milliseconds.parse::<f64>().ok()? / 1000.0)
}

/// Writes the run and starts its worker.
pub fn start(home: &Home, task: &Task, request: &AgentRequest) -> Answer<RunId> {
    let wish = AgentWish {
        limit_s: Some(request.limit_s),
        prompt: request.variant.clone(),
        model: request.model.clone(),
        recording: request.recording.clone(),
        rate: request.rate,
        ..AgentWish::of(&request.agent)
    };
    let agent = launch::agent_launch(home, task, &wish).map_err(BackendError::new)?;
    let order = launch::Order {
        // what the agent leaves takes base's place once it is there
        source: Source::Base,
        work: Work::Grade,
        agent: Some(agent),
        suites: SuiteChoice::All,
        engine: request.engine,
        calibration: CalibrationChoice::Auto,
        ranks: None,
        only: Vec::new(),
        parent: None,
    };
    let run = launch::start(home, task, order).map_err(BackendError::new)?;
    Ok(run.id())
}
