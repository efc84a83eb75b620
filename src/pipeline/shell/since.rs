//! What has changed since the run whose case is looked into.

use std::path::PathBuf;

use crate::domain::{Manifest, Source, Submission, Suite};
use crate::pipeline::calibrate::key;
use crate::pipeline::error::Stop;
use crate::pipeline::ground::Ground;
use crate::store::RunDir;

/// A line for each thing that is not what the run's record says.
pub(super) fn changes(
    ground: &Ground,
    run: &RunDir,
    manifest: &Manifest,
    suite: Suite,
) -> Result<Vec<String>, Stop> {
    let state = run.state()?;
    let id = run.id();
    let mut told = Vec::new();
    if let Some(engine) = state.engine
        && engine != ground.engine_kind()
    {
        let (then, now) = (engine.name(), ground.engine_kind().name());
        told.push(format!("run {id} ran on the engine {then}, this is {now}"));
    }
    let ranks = ground.task.spec.suites.get(suite).map(|s| s.ranks.max(1));
    let then = manifest.ranks.or(ranks);
    if then != ranks {
        let (then, now) = (then.unwrap_or(1), ranks.unwrap_or(1));
        told.push(format!("run {id} had {then} ranks, here there are {now}"));
    }
    // the key has the engine and the ranks in it as well
    let known = state.keys.get(&Some(suite)).filter(|_| told.is_empty());
    if let Some(known) = known
        && *known != key(ground, suite)?
    {
        told.push(format!(
            "the task is not what run {id} was graded with: the {suite} tests, base, gold, limits, \
             environment or infradev itself changed since (or its calibration is of another \
             machine)"
        ));
    }
    told.extend(patch(ground, run, &manifest.source));
    Ok(told)
}

/// Whether the patch still is what the run graded, which is what is opened.
fn patch(ground: &Ground, run: &RunDir, source: &Source) -> Option<String> {
    let (file, what): (PathBuf, String) = match source {
        Source::Submission { name } => (
            ground
                .task
                .submission(name)
                .and_then(Submission::patch_path)?,
            format!("submission {name}"),
        ),
        Source::Patch { file } => (file.clone(), file.display().to_string()),
        Source::Gold | Source::Base | Source::Agent { .. } => return None,
    };
    let kept = [run.edits_path(), run.patch_path()];
    let kept = std::fs::read(kept.iter().find(|path| path.is_file())?).ok()?;
    match std::fs::read(&file) {
        Ok(now) if now == kept => None,
        Ok(_) => Some(format!(
            "{what} has changed since run {}: this is the patch that was graded",
            run.id()
        )),
        Err(_) => Some(format!(
            "{what} is not there any more: this is the patch that run {} graded",
            run.id()
        )),
    }
}
