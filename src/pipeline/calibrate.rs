//! Gold's calibration: read where it is known for the key, else made by one gold run.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::build::build;
use super::error::Stop;
use super::grade::Timer;
use super::ground::{Ground, prepare};
use super::key::KeyParts;
use super::recorder::Recorder;
use super::run_suites::{Subjected, SuiteResult, one_suite};
use super::suite::reporter_hash;
use crate::domain::event::CalibrationCounts;
use crate::domain::{
    CALIBRATION_VERSION, CalibratedCase, Calibration, CaseId, CaseResult, CaseRun, Event, Level,
    Manifest, Outcome, Stage, Subject, Suite, SuiteCalibration,
};
use crate::store::{
    Home, RunDir, keep_calibration, kept_calibration, now_s, record_calibration, task_calibrations,
    write_calibration,
};

/// Gold on the suites that are graded. A suite without a calibration for its key runs on gold
/// first, once, and the journal says so (METHOD.md section 6).
pub(super) async fn calibration(
    home: &Home,
    ground: &Ground,
    suites: &[Suite],
    recorder: &Recorder,
    isolated: &Arc<AtomicBool>,
) -> Result<Calibration, Stop> {
    let mut all = empty(ground);
    let mut built = false;
    for suite in suites {
        let key = key(ground, *suite)?;
        let (known, fresh) =
            if let Some(known) = known(home, ground, *suite, &key, recorder).await? {
                (known, false)
            } else {
                recorder.say(
                    Level::Info,
                    format!("{suite}: no calibration for this key; gold runs first, once"),
                );
                if !built {
                    build_gold(ground, isolated).await?;
                    built = true;
                }
                let known = run_gold(ground, *suite, &key, 1, recorder, isolated).await?;
                keep_calibration(home, &known)?;
                (known, true)
            };
        recorder.record(Event::Calibrated {
            suite: Some(*suite),
            key,
            fresh,
            collected: known.collected(),
            passed: known.passed(),
        });
        all.isolated &= known.isolated;
        all.suites.extend(known.suites);
    }
    Ok(all)
}

/// The whole of a calibration run: gold `runs` times on each suite, kept in the home, in the run
/// and in the task's folder.
pub(super) async fn calibrate(
    home: &Home,
    run: &RunDir,
    manifest: &Manifest,
    runs: u32,
    recorder: &Recorder,
) -> Result<(), Stop> {
    let timer = Timer::start(recorder, Stage::Prepare, Subject::Gold);
    let ground = prepare(home, run, manifest, recorder).await?;
    timer.stop();
    let task = ground.task.clone();
    let made = suites_of_gold(&ground, manifest, runs, recorder).await;
    let all = ground.end(made, recorder).await?;
    keep_calibration(home, &all)?;
    write_calibration(&run.calibration_path(), &all)?;
    match record_calibration(&task, &all) {
        Ok(file) => recorder.say(
            Level::Info,
            format!(
                "recorded in {}; kept with the task, it spares others on such a machine the gold run",
                file.display()
            ),
        ),
        Err(e) => recorder.say(
            Level::Warn,
            format!(
                "the task's folder does not take it ({e}); it is in {}",
                run.calibration_path().display()
            ),
        ),
    }
    recorder.record(Event::CalibrationMade {
        suites: all.suites.iter().map(|(s, c)| (*s, counts(c))).collect(),
    });
    Ok(())
}

async fn suites_of_gold(
    ground: &Ground,
    manifest: &Manifest,
    runs: u32,
    recorder: &Recorder,
) -> Result<Calibration, Stop> {
    let isolated = Arc::new(AtomicBool::new(true));
    build_gold(ground, &isolated).await?;
    let mut all = empty(ground);
    for suite in ground.suites(manifest)? {
        let key = key(ground, suite)?;
        let made = run_gold(ground, suite, &key, runs, recorder, &isolated).await?;
        all.isolated &= made.isolated;
        all.suites.extend(made.suites);
    }
    Ok(all)
}

fn counts(suite: &SuiteCalibration) -> CalibrationCounts {
    CalibrationCounts {
        runs: suite.runs,
        ranks: suite.ranks,
        collected: suite.cases.len(),
        passed: suite.passed(),
        flaky: suite.flaky().len(),
        skipped: suite.skipped().len(),
    }
}

/// What is on record under a key: in the home, else in the task's folder from another machine of
/// the same kind.
async fn known(
    home: &Home,
    ground: &Ground,
    suite: Suite,
    key: &str,
    recorder: &Recorder,
) -> Result<Option<Calibration>, Stop> {
    let left_out = |why: &str| {
        recorder.say(Level::Warn, format!("a calibration is left out: {why}"));
    };
    if let Some(own) = kept_calibration(home, key)? {
        match fits(ground, suite, &own) {
            // what ran here counts before what others measured
            Ok(()) => return Ok(Some(own)),
            Err(why) => left_out(&why),
        }
    }
    let dir = ground.task.dir.clone();
    let shipped = tokio::task::spawn_blocking(move || task_calibrations(&dir))
        .await
        .map_err(|e| Stop::Fault(format!("calibrations: {e}")))?;
    for (file, read) in shipped {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let part = match read {
            Ok(whole) => whole.of_key(key),
            Err(e) => {
                left_out(&e.to_string());
                continue;
            }
        };
        let Some(part) = part else { continue };
        if let Err(why) = fits(ground, suite, &part) {
            left_out(&format!("{name}: {why}"));
            continue;
        }
        recorder.say(Level::Info, format!("calibration {name} of the task fits"));
        // where readers of this home look for it
        keep_calibration(home, &part)?;
        return Ok(Some(part));
    }
    Ok(None)
}

/// Whether a calibration under the right key is one of this suite, here: files travel, and hold
/// what somebody wrote.
fn fits(ground: &Ground, suite: Suite, known: &Calibration) -> Result<(), String> {
    known.sound()?;
    let part = known.suites.get(&suite).ok_or("of another suite")?;
    let ranks = ground.task.spec.suites.get(suite).map(|s| s.ranks.max(1));
    let here = ground.machine();
    let same = known.task == ground.task.id()
        && known.engine == ground.engine_kind()
        && known.environment == ground.environment.hash
        && known.machine.gpu_type == here.gpu_type
        && known.machine.settings == here.settings
        && Some(part.ranks) == ranks;
    if same {
        Ok(())
    } else {
        Err("it tells of another task, machine or number of ranks than its key".into())
    }
}

/// A calibration without suites yet.
pub(super) fn empty(ground: &Ground) -> Calibration {
    Calibration {
        schema: CALIBRATION_VERSION,
        task: ground.task.id().into(),
        created_s: now_s(),
        engine: ground.engine_kind(),
        environment: ground.environment.hash.clone(),
        machine: ground.machine(),
        isolated: true,
        suites: BTreeMap::new(),
    }
}

fn gold(ground: &Ground) -> Subjected {
    Subjected {
        subject: Subject::Gold,
        tree: ground.trees.gold,
        slot: 0,
    }
}

/// Builds gold, where the task has a build step.
async fn build_gold(ground: &Ground, isolated: &Arc<AtomicBool>) -> Result<(), Stop> {
    let Some(spec) = &ground.task.spec.build else {
        return Ok(());
    };
    build(ground, &gold(ground), spec, isolated)
        .await?
        .map_err(|message| {
            Stop::Input(format!(
                "gold does not build, so nothing can be graded: {message}"
            ))
        })
}

async fn run_gold(
    ground: &Ground,
    suite: Suite,
    key: &str,
    runs: u32,
    recorder: &Recorder,
    isolated: &Arc<AtomicBool>,
) -> Result<Calibration, Stop> {
    let none = empty(ground);
    let mut all = Vec::new();
    for number in 1..=runs.max(1) {
        let timer = Timer::start(recorder, Stage::Calibrate, Subject::Gold);
        if runs > 1 {
            recorder.say(Level::Info, format!("{suite}: gold run {number} of {runs}"));
        }
        let ran = one_suite(ground, &gold(ground), suite, &none, &[], recorder, isolated).await?;
        // what a GPU that went left behind is no calibration
        ground.gpus_answer().await?;
        all.push(gold_results(suite, ran)?);
        timer.stop();
    }
    let part = part(ground, suite, key, &all);
    if part.passed() == 0 {
        // a judge that is content with nothing is none
        return Err(Stop::Input(format!(
            "gold passes no case of the {suite} suite ({} collected, {} skipped); correct [suites.{suite}] or the environment in task.toml",
            part.cases.len(),
            part.skipped().len()
        )));
    }
    Ok(Calibration {
        isolated: isolated.load(Ordering::Relaxed),
        suites: BTreeMap::from([(suite, part)]),
        ..none
    })
}

/// What gold's runs of a suite say together.
pub(super) fn part(
    ground: &Ground,
    suite: Suite,
    key: &str,
    all: &[Vec<CaseResult>],
) -> SuiteCalibration {
    let spec = ground.task.spec.suites.get(suite);
    SuiteCalibration {
        key: key.into(),
        ranks: spec.map_or(1, |s| s.ranks.max(1)),
        runs: all.len() as u32,
        duration_s: all
            .iter()
            .map(|run| run.iter().map(|r| r.duration_s).sum())
            .fold(0.0, f64::max),
        cases: merge(all),
    }
}

fn gold_results(suite: Suite, ran: SuiteResult) -> Result<Vec<CaseResult>, Stop> {
    match ran {
        SuiteResult::Ran {
            results,
            discrepancies: 0,
            ..
        } if results.is_empty() => Err(Stop::Input(format!(
            "gold collects no case of the {suite} suite; correct [suites.{suite}] in task.toml"
        ))),
        SuiteResult::Ran {
            results,
            discrepancies: 0,
            ..
        } => Ok(results),
        SuiteResult::Ran { discrepancies, .. } => Err(Stop::Fault(format!(
            "gold's reports on the {suite} suite disagree {discrepancies} times (see the run's log), so they cannot calibrate"
        ))),
        SuiteResult::Environment(message) => Err(Stop::Input(format!(
            "the environment cannot run the {suite} suite: {message}"
        ))),
    }
}

/// Gold's runs case by case, in the order in which cases were first collected; one that a run did
/// not collect is missing there.
fn merge(runs: &[Vec<CaseResult>]) -> Vec<CalibratedCase> {
    let mut order: Vec<&CaseId> = Vec::new();
    let mut seen = HashSet::new();
    for result in runs.iter().flatten() {
        if seen.insert(&result.id) {
            order.push(&result.id);
        }
    }
    let by_id: Vec<HashMap<&CaseId, &CaseResult>> = runs
        .iter()
        .map(|run| run.iter().map(|r| (&r.id, r)).collect())
        .collect();
    order
        .into_iter()
        .filter_map(|id| {
            let each = by_id.iter().map(|run| {
                run.get(id).map_or(
                    CaseRun {
                        outcome: Outcome::Missing,
                        duration_s: 0.0,
                    },
                    |r| CaseRun {
                        outcome: r.outcome,
                        duration_s: r.duration_s,
                    },
                )
            });
            CalibratedCase::of(id.clone(), each.collect())
        })
        .collect()
}

pub(super) fn key(ground: &Ground, suite: Suite) -> Result<String, Stop> {
    let fault = |e: String| Stop::Fault(e);
    let spec = &ground.task.spec;
    let tests = ground.trees.suite_hash(&ground.task, suite)?;
    let Some(suite_spec) = spec.suites.get(suite) else {
        return Err(Stop::Input(format!(
            "task {} has no {suite} suite",
            ground.task.id()
        )));
    };
    KeyParts {
        suite,
        base: &ground.trees.base.to_string(),
        gold: &ground.trees.gold.to_string(),
        tests: &tests,
        spec: suite_spec,
        environment: &ground.environment.hash,
        environment_spec: &spec.environment,
        build: spec.build.as_ref(),
        limits: &spec.limits,
        hardware: &spec.hardware,
        gpu_type: ground.gpu_type(),
        settings: &ground.settings(),
        engine: ground.engine_kind(),
        image: ground.image_id(),
        reporter: &reporter_hash(),
    }
    .hash()
    .map_err(|e| fault(e.to_string()))
}
