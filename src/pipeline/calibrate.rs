//! Gold's calibration: read where it is known for the key, else made by one gold run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::elsewhere::{Elsewhere, elsewhere, not_on_record};
use super::error::Stop;
use super::gold::{build_gold, run_gold};
use super::grade::Timer;
use super::ground::{Ground, prepare};
use super::key::KeyParts;
use super::recorder::Recorder;
use super::suite::reporter_hash;
use crate::domain::event::CalibrationCounts;
use crate::domain::{
    CALIBRATION_VERSION, Calibration, CalibrationChoice, Event, Level, Manifest, Stage, Subject,
    Suite, SuiteCalibration,
};
use crate::store::{
    Home, RunDir, keep_calibration, kept_calibration, now_s, record_calibration, task_calibrations,
    write_calibration,
};

/// Gold on the suites that are graded, and whether some of it is of another machine. A suite without
/// a calibration for its key runs on gold first, once, and the journal says so (METHOD.md section
/// 6), unless `choice` says otherwise.
pub(super) async fn calibration(
    home: &Home,
    ground: &Ground,
    suites: &[Suite],
    choice: CalibrationChoice,
    recorder: &Recorder,
    isolated: &Arc<AtomicBool>,
) -> Result<(Calibration, bool), Stop> {
    let mut all = empty(ground);
    let (mut built, mut foreign) = (false, false);
    for suite in suites {
        let mut key = key(ground, *suite)?;
        let known = known(home, ground, *suite, &key, recorder).await?;
        let found = match known {
            Some(_) => Vec::new(),
            None => elsewhere(ground, *suite, &all).await?,
        };
        let (known, fresh) = match (known, choice) {
            (Some(known), _) => (known, false),
            (None, CalibrationChoice::Auto) => {
                recorder.say(
                    Level::Info,
                    format!("{suite}: no calibration for this key; gold runs first, once"),
                );
                if !built {
                    build_gold(ground, isolated).await?;
                    built = true;
                }
                let known = run_gold(ground, *suite, &key, 1, recorder, isolated)
                    .await
                    .map_err(|stop| with_hint(stop, &found))?;
                keep_calibration(home, &known)?;
                (known, true)
            }
            (None, CalibrationChoice::Any) if !found.is_empty() => {
                let nearest = &found[0];
                let words = format!(
                    "{suite}: graded against a calibration of another machine ({})",
                    nearest.words()
                );
                recorder.say(Level::Warn, words);
                // where readers of this home look for it, under its own key
                keep_calibration(home, &nearest.calibration)?;
                foreign = true;
                if let Some(part) = nearest.calibration.suites.get(suite) {
                    key.clone_from(&part.key);
                }
                (nearest.calibration.clone(), false)
            }
            (None, _) => return Err(not_on_record(*suite, &found)),
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
    Ok((all, foreign))
}

/// Where gold does not run here, what else there is.
fn with_hint(stop: Stop, found: &[Elsewhere]) -> Stop {
    match (stop, found.first()) {
        (Stop::Input(message), Some(nearest)) => Stop::Input(format!(
            "{message}; there is a calibration of another machine ({}): --calibration any grades against it, with the badge uncalibrated",
            nearest.words()
        )),
        (stop, _) => stop,
    }
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

/// The key of a suite here.
pub(super) fn key(ground: &Ground, suite: Suite) -> Result<String, Stop> {
    key_on(ground, suite, &empty(ground))
}

/// The key that a suite has on a calibration's machine. An image is not on record: where both
/// engines are docker, it is taken to be this one.
pub(super) fn key_on(ground: &Ground, suite: Suite, there: &Calibration) -> Result<String, Stop> {
    let fault = |e: String| Stop::Fault(e);
    let spec = &ground.task.spec;
    let tests = ground.trees.suite_hash(&ground.task, suite)?;
    let Some(suite_spec) = spec.suites.get(suite) else {
        return Err(Stop::Input(format!(
            "task {} has no {suite} suite",
            ground.task.id()
        )));
    };
    let beside = match suite {
        Suite::Official => None,
        Suite::Probes => Some(ground.trees.suite_hash(&ground.task, Suite::Official)?),
    };
    KeyParts {
        suite,
        base: &ground.trees.base.to_string(),
        gold: &ground.trees.gold.to_string(),
        tests: &tests,
        beside: beside.as_deref(),
        spec: suite_spec,
        environment: &there.environment,
        environment_spec: &spec.environment,
        build: spec.build.as_ref(),
        limits: &spec.limits,
        hardware: &spec.hardware,
        gpu_type: there.machine.gpu_type.as_deref(),
        settings: &there.machine.settings,
        engine: there.engine,
        image: (ground.image_id()).filter(|_| there.engine == ground.engine_kind()),
        reporter: &reporter_hash(),
    }
    .hash()
    .map_err(|e| fault(e.to_string()))
}
