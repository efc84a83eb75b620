//! Stage `capture`: the agent's patch, made from the trees.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::agent::trace::{End, Entry, Kind, hosted_searches, read};
use crate::domain::agent::{ENDED_IN_ERROR, HOSTED_SEARCH};
use crate::domain::agent_state::Captured;
use crate::domain::event::PatchedFile;
use crate::domain::run_state::RunState;
use crate::domain::{CaptureNote, Event, Level, NetworkMode, hex};
use crate::pipeline::error::Stop;
use crate::pipeline::ground::Ground;
use crate::pipeline::recorder::Recorder;
use crate::pipeline::trees::differing;
use crate::store::RunDir;
use crate::workspace::Capture;

/// What an agent left when its sandbox failed; kept for a person, never graded.
const PARTIAL: &str = "partial.patch";
/// Letters of a model's name or a version that are kept of a log.
const LONGEST_NAME: usize = 200;

/// Makes the patch and puts it where every run has the patch that is graded.
pub(super) async fn capture(ground: &Ground, tree: &Path, recorder: &Recorder) -> Result<(), Stop> {
    let mut made = make(ground, tree).await?;
    made.notes.extend(searches(ground)?);
    let (named, ended) = told(ground)?;
    made.notes.extend(ended);
    if let Some(named) = named {
        recorder.record(named);
    }
    let sha256 = hex(&Sha256::digest(&made.patch));
    write(&ground.run.patch_path(), &made.patch)?;
    recorder.record(Event::Captured {
        sha256,
        bytes: made.patch.len() as u64,
        files: made
            .files
            .iter()
            .map(differing)
            .collect::<Vec<PatchedFile>>(),
        notes: made.notes,
        more_notes: made.more_notes,
    });
    Ok(())
}

/// An agent that may reach its model's host only, whose host searched the web for it.
fn searches(ground: &Ground) -> Result<Option<CaptureNote>, Stop> {
    let Some(agent) = ground.run.state()?.agent else {
        return Ok(None);
    };
    let path = ground.run.agent_log_path();
    let found = match std::fs::File::open(&path) {
        Ok(log) if agent.network == NetworkMode::AllowList => {
            hosted_searches(log, agent.format).unwrap_or_default()
        }
        _ => 0,
    };
    Ok((found > 0).then(|| CaptureNote {
        path: "agent.log".into(),
        kind: HOSTED_SEARCH.into(),
        detail: format!("its model's host searched the web, {found} times"),
    }))
}

/// What the agent's log tells: the model and the version, where it names any, and that it ends in an
/// error.
fn told(ground: &Ground) -> Result<(Option<Event>, Option<CaptureNote>), Stop> {
    let Some(agent) = ground.run.state()?.agent else {
        return Ok((None, None));
    };
    let Ok(log) = std::fs::File::open(ground.run.agent_log_path()) else {
        return Ok((None, None));
    };
    let mut last = String::new();
    let mut hear = |_, entry: Entry| {
        if let Kind::Error { text } = entry.kind {
            last = text;
        }
    };
    // a log that cannot be read to its end names nothing, and is no fault
    let facts = read(log, agent.format, &mut hear).unwrap_or_default();
    let ended = (facts.end == Some(End::Error)).then(|| CaptureNote {
        path: "agent.log".into(),
        kind: ENDED_IN_ERROR.into(),
        detail: last
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .take(LONGEST_NAME)
            .collect(),
    });
    let short = |name: Option<String>| {
        let name: String = name?.chars().filter(|c| !c.is_control()).collect();
        Some(name.chars().take(LONGEST_NAME).collect::<String>())
    };
    let (model, version) = (short(facts.model), short(facts.version));
    let any = model.is_some() || version.is_some();
    Ok((any.then_some(Event::AgentNamed { model, version }), ended))
}

/// After a fault: what is there is kept beside, and said.
pub(super) async fn rescue(ground: &Ground, tree: &Path, recorder: &Recorder) {
    let path = ground.run.path().join(PARTIAL);
    let rescued = match make(ground, tree).await {
        Ok(made) if made.files.is_empty() => return,
        Ok(made) => write(&path, &made.patch),
        Err(stop) => Err(stop),
    };
    match rescued {
        Ok(()) => recorder.say(
            Level::Warn,
            format!("what the agent had changed is kept in {}", path.display()),
        ),
        Err(Stop::Fault(e) | Stop::Input(e)) => {
            recorder.say(
                Level::Warn,
                format!("what the agent had changed is lost: {e}"),
            );
        }
        Err(Stop::Cancelled) => {}
    }
}

async fn make(ground: &Ground, tree: &Path) -> Result<Capture, Stop> {
    let (trees, tree) = (Arc::clone(&ground.trees), tree.to_path_buf());
    tokio::task::spawn_blocking(move || trees.snapshot.capture(&tree, trees.base))
        .await
        .map_err(|e| Stop::Fault(format!("capture: {e}")))?
        .map_err(|e| Stop::Fault(format!("capture: {e}")))
}

/// Whole or not at all.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Stop> {
    let part: PathBuf = path.with_extension("part");
    std::fs::write(&part, bytes)
        .and_then(|()| std::fs::File::open(&part)?.sync_all())
        .and_then(|()| std::fs::rename(&part, path))
        .map_err(|e| Stop::Fault(format!("{}: {e}", path.display())))
}

/// What an earlier attempt of the run captured, where its patch is still that.
pub(super) fn still_there<'a>(run: &RunDir, kept: &'a RunState) -> Option<&'a Captured> {
    let captured = kept.captured.as_ref()?;
    let bytes = std::fs::read(run.patch_path()).ok()?;
    (hex(&Sha256::digest(&bytes)) == captured.sha256).then_some(captured)
}
