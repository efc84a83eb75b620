//! One grade, stage by stage: prepare, calibrate, apply, build, official, probes, judge
//! (DESIGN.md, The judge's mechanics).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::agent::agent_part;
use super::build::build;
use super::calibrate::calibration;
use super::error::Stop;
use super::evidence::{audit, weigh};
use super::ground::{Ground, prepare};
use super::recorder::Recorder;
use super::run_suites::{Subjected, SuiteResult, one_suite};
use super::trees::{Patch, Unchanged};
use crate::domain::agent_state::Captured;
use crate::domain::grade::Durations;
use crate::domain::run_state::RunState;
use crate::domain::{
    Badge, Calibration, CaseId, CaseResult, Cause, Event, Grade, Manifest, Source, Stage, Subject,
    Suite,
};
use crate::judge::{Observed, judge};
use crate::store::{Home, RunDir};

/// Runs the whole pipeline of one run. `kept`: what an earlier attempt of it had finished.
pub(super) async fn grade(
    home: &Home,
    run: &RunDir,
    manifest: &Manifest,
    kept: &RunState,
    recorder: &Recorder,
) -> Result<Grade, Stop> {
    let started = Instant::now();
    let mut duration = Durations::default();
    let timer = Timer::start(recorder, Stage::Prepare, Subject::Submission);
    let ground = prepare(home, run, manifest, recorder).await?;
    let waited = ground.waited();
    duration.prepare = timer.stop() - waited.as_secs_f64();
    let graded = on_ground(home, run, manifest, kept, recorder, &ground, duration).await;
    let mut grade = ground.end(graded, recorder).await?;
    grade.duration_s.total = started.elapsed().saturating_sub(waited).as_secs_f64();
    Ok(grade)
}

/// From the calibration to the verdict.
async fn on_ground(
    home: &Home,
    run: &RunDir,
    manifest: &Manifest,
    kept: &RunState,
    recorder: &Recorder,
    ground: &Ground,
    mut duration: Durations,
) -> Result<Grade, Stop> {
    let isolated = Arc::new(AtomicBool::new(true));
    let suites = ground.suites(manifest)?;
    let choice = manifest.calibration;
    let (calibration, foreign) =
        calibration(home, ground, &suites, choice, recorder, &isolated).await?;
    let suites = with_chosen(suites, &calibration, manifest)?;
    if let Some(order) = &manifest.agent {
        let part = agent_part(home, ground, order, kept, recorder).await?;
        (duration.agent, duration.capture) = (part.agent, part.capture);
    }
    let patch = read_patch(run, &manifest.source)?;
    let mut observed = Observed {
        task: manifest.task.clone(),
        run: manifest.run.0.clone(),
        engine: ground.engine_kind(),
        suites: suites.clone(),
        unprobed: ground.task.spec.suites.probes.is_none(),
        refused: None,
        results: BTreeMap::new(),
        twins_passed: Vec::new(),
        discrepancies: 0,
        evidence: Vec::new(),
        signs: 0,
        isolated: true,
        duration_s: duration,
    };

    let timer = Timer::start(recorder, Stage::Apply, Subject::Submission);
    let tree = match patch {
        None => Some(ground.trees.base),
        Some(patch) => change(ground, patch, recorder, &mut observed).await?,
    };
    duration.apply = timer.stop();
    // read anew: what stays of an earlier attempt depends on this one's engine, calibration and patch
    let kept = &run.state()?;

    if let Some(tree) = tree {
        if tree != ground.trees.base {
            observed.signs = audit(ground, tree, recorder).await?;
        }
        let subjected = Subjected {
            subject: Subject::Submission,
            tree,
            slot: 0,
        };
        run_all(
            home,
            ground,
            manifest,
            kept,
            recorder,
            &calibration,
            &subjected,
            &isolated,
            &mut observed,
            &mut duration,
        )
        .await?;
    }
    let timer = Timer::start(recorder, Stage::Judge, Subject::Submission);
    observed.isolated = isolated.load(Ordering::Relaxed);
    observed.duration_s = duration;
    let mut grade = judge(&observed, &restrict(&calibration, manifest));
    let elsewhere = foreign || observed.isolated != calibration.isolated;
    if elsewhere && !grade.badges.contains(&Badge::Uncalibrated) {
        grade.badges.push(Badge::Uncalibrated);
    }
    grade
        .badges
        .extend(kept.captured.iter().flat_map(Captured::badges));
    timer.stop();
    Ok(grade)
}

/// Build and suites on the submission's tree.
#[allow(clippy::too_many_arguments)] // one call, and a struct would only rename it
async fn run_all(
    home: &Home,
    ground: &Ground,
    manifest: &Manifest,
    kept: &RunState,
    recorder: &Recorder,
    calibration: &Calibration,
    subjected: &Subjected,
    isolated: &Arc<AtomicBool>,
    observed: &mut Observed,
    duration: &mut Durations,
) -> Result<(), Stop> {
    if let Some(spec) = &ground.task.spec.build {
        let timer = Timer::start(recorder, Stage::Build, subjected.subject);
        let built = build(ground, subjected, spec, isolated).await?;
        duration.build = timer.stop();
        if let Err(message) = built {
            recorder.record(Event::PatchRefused {
                cause: Cause::Build,
                message: message.clone(),
            });
            observed.refused = Some((Cause::Build, message));
            return Ok(());
        }
    }
    let (kept_disagreed, kept_evidence) = (&kept.disagreed, &kept.evidence);
    for suite in observed.suites.clone() {
        let stage = stage_of(suite);
        // on GPUs it is measured afresh: they may have been others, or on their way out
        let kept = ground.gpu_type().is_none().then_some(kept);
        if let Some(done) = kept.and_then(|kept| already_done(kept, suite)) {
            recorder.say(
                crate::domain::Level::Info,
                format!("{suite}: kept from the earlier attempt"),
            );
            let (results, twins) = done;
            observed.results.insert(suite, results);
            observed.twins_passed.extend(twins);
            observed.discrepancies += kept_disagreed.get(&suite).copied().unwrap_or(0);
            let evidence = kept_evidence.get(&suite).into_iter().flatten();
            observed.evidence.extend(evidence.cloned());
            continue;
        }
        let timer = Timer::start(recorder, stage, subjected.subject);
        let result = one_suite(
            ground,
            subjected,
            suite,
            calibration,
            &manifest.only,
            recorder,
            isolated,
        )
        .await;
        let took = timer.stop();
        match suite {
            Suite::Official => duration.official = took,
            Suite::Probes => duration.probes = took,
        }
        match result? {
            SuiteResult::Ran {
                results,
                twins,
                discrepancies,
                deviations,
            } => {
                let evidence = weigh(
                    home,
                    ground,
                    suite,
                    calibration,
                    &deviations,
                    recorder,
                    isolated,
                );
                observed.evidence.extend(evidence.await?);
                // last of a suite: whoever takes the run up again has all of its evidence
                if let Some(twins) = twins {
                    recorder.record(Event::Twins {
                        suite,
                        run: twins.run,
                        passed: twins.passed.clone(),
                    });
                    observed.twins_passed.extend(twins.passed);
                }
                observed.results.insert(suite, results);
                observed.discrepancies += discrepancies;
            }
            // gold ran in it, and nothing of the submission was there yet
            SuiteResult::Environment(message) => {
                return Err(Stop::Fault(format!(
                    "the environment cannot run the {suite} suite any more: {message}; `infradev env check` verifies it"
                )));
            }
        }
    }
    Ok(())
}

pub(super) fn stage_of(suite: Suite) -> Stage {
    match suite {
        Suite::Official => Stage::Official,
        Suite::Probes => Stage::Probes,
    }
}

/// A suite that an earlier attempt of this run had finished, twins included.
fn already_done(kept: &RunState, suite: Suite) -> Option<(Vec<CaseResult>, Vec<CaseId>)> {
    let state = kept
        .suite(Subject::Submission, suite)
        .filter(|s| s.finished)?;
    let (_, twins) = kept.twins.get(&suite)?;
    Some((
        state
            .order
            .iter()
            .filter_map(|id| state.results.get(id).cloned())
            .collect(),
        twins.clone(),
    ))
}

/// The patch that is graded; `None`: base as it is.
pub(super) fn read_patch(run: &RunDir, source: &Source) -> Result<Option<Patch>, Stop> {
    if *source == Source::Base {
        return Ok(None);
    }
    let edits = run.edits_path();
    let file = if edits.is_file() {
        edits
    } else {
        run.patch_path()
    };
    Ok(Some(match (Patch::read(&file)?, source) {
        // gold of a repository commit is a tree, not a patch file
        (Patch::Missing, Source::Gold) => Patch::Gold,
        (patch, _) => patch,
    }))
}

/// Applies the patch; a refusal is noted and gives no tree.
async fn change(
    ground: &Ground,
    patch: Patch,
    recorder: &Recorder,
    observed: &mut Observed,
) -> Result<Option<git2::Oid>, Stop> {
    let trees = Arc::clone(&ground.trees);
    let changed = tokio::task::spawn_blocking(move || trees.change(&patch))
        .await
        .map_err(|e| Stop::Fault(format!("apply: {e}")))?;
    match changed {
        Ok(changed) => {
            recorder.record(Event::PatchApplied {
                subject: Subject::Submission,
                method: changed.method,
                files: changed.files,
                tree: Some(changed.tree.to_string()),
            });
            Ok(Some(changed.tree))
        }
        Err(Unchanged::Refused(refused)) => {
            recorder.record(Event::PatchRefused {
                cause: refused.cause,
                message: refused.message.clone(),
            });
            observed.refused = Some((refused.cause, refused.message));
            Ok(None)
        }
        Err(Unchanged::Stop(stop)) => Err(stop),
    }
}

/// The suites that hold chosen cases; all of them where none is chosen.
fn with_chosen(
    suites: Vec<Suite>,
    calibration: &Calibration,
    manifest: &Manifest,
) -> Result<Vec<Suite>, Stop> {
    if manifest.only.is_empty() {
        return Ok(suites);
    }
    let known = |suite: &Suite, id: &CaseId| {
        let gold = calibration.suites.get(suite);
        gold.is_some_and(|g| g.cases.iter().any(|c| c.id == *id))
    };
    if let Some(id) = manifest
        .only
        .iter()
        .find(|id| !suites.iter().any(|s| known(s, id)))
    {
        return Err(Stop::Input(format!(
            "gold collects no case {id}; `infradev grade {} --gold --json` lists the cases",
            manifest.task
        )));
    }
    Ok(suites
        .into_iter()
        .filter(|s| manifest.only.iter().any(|id| known(s, id)))
        .collect())
}

/// The part of the calibration that a run of chosen cases is judged against.
fn restrict(calibration: &Calibration, manifest: &Manifest) -> Calibration {
    let mut part = calibration.clone();
    if !manifest.only.is_empty() {
        for suite in part.suites.values_mut() {
            suite.cases.retain(|c| manifest.only.contains(&c.id));
        }
        part.suites.retain(|_, suite| !suite.cases.is_empty());
    }
    part
}

/// A stage's time, told to the journal at both ends.
pub(super) struct Timer {
    recorder: Recorder,
    stage: Stage,
    subject: Subject,
    from: Instant,
}

impl Timer {
    pub(super) fn start(recorder: &Recorder, stage: Stage, subject: Subject) -> Self {
        recorder.record(Event::StageStarted { stage, subject });
        Self {
            recorder: recorder.clone(),
            stage,
            subject,
            from: Instant::now(),
        }
    }

    pub(super) fn stop(self) -> f64 {
        let duration_s = self.from.elapsed().as_secs_f64();
        self.recorder.record(Event::StageFinished {
            stage: self.stage,
            subject: self.subject,
            duration_s,
        });
        duration_s
    }
}
