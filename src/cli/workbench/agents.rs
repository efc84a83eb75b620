//! Agents' part of runs, as the workbench asks for it.

use crate::domain::submission::LogFormat;
use crate::domain::{AgentSpec, Source, Submission};
use crate::store::{Home, RunDir, Summary};
use crate::tui::backend::{AgentTime, Answer, BackendError, LogInfo};

use super::backend::place;

/// A run's line, and its agent's time where one is at work.
pub fn summary(run: &RunDir) -> Answer<(Summary, Option<AgentTime>)> {
    if run.summary_path().exists() {
        let kept = Summary::of(run).map_err(BackendError::new)?;
        return Ok((kept, None));
    }
    let manifest = run.manifest().map_err(BackendError::new)?;
    let state = run.state().map_err(BackendError::new)?;
    let status = run.status(&state, manifest.created_s);
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
