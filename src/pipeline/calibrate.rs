//! Gold's calibration: read where it is known for the key, else made by one gold run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::build::build;
use super::error::Stop;
use super::grade::Timer;
use super::ground::Ground;
use super::key::KeyParts;
use super::recorder::Recorder;
use super::run_suites::{Subjected, SuiteResult, one_suite};
use super::suite::reporter_hash;
use crate::domain::task::BuildSpec;
use crate::domain::{
    CalibratedCase, Calibration, Event, Level, Stage, Subject, Suite, SuiteCalibration,
};
use crate::store::{Home, keep_calibration, kept_calibration, now_s};
use crate::workspace::hash_tree;

/// Gold on the suites that are graded. A suite without a calibration for its key runs on gold
/// first, once, and the journal says so (METHOD.md section 6).
pub(super) async fn calibration(
    home: &Home,
    ground: &Ground,
    suites: &[Suite],
    recorder: &Recorder,
    isolated: &Arc<AtomicBool>,
) -> Result<Calibration, Stop> {
    let mut all = empty(ground, "");
    let mut built = false;
    for suite in suites {
        let key = key(ground, *suite)?;
        let (known, fresh) = if let Some(known) = kept_calibration(home, &key)? {
            (known, false)
        } else {
            let timer = Timer::start(recorder, Stage::Calibrate, Subject::Gold);
            recorder.say(
                Level::Info,
                format!("{suite}: no calibration for this key; gold runs first, once"),
            );
            if let Some(spec) = ground.task.spec.build.as_ref().filter(|_| !built) {
                build_gold(ground, spec, isolated).await?;
                built = true;
            }
            let known = run_gold(ground, *suite, &key, recorder, isolated).await?;
            keep_calibration(home, &known)?;
            timer.stop();
            (known, true)
        };
        recorder.record(Event::Calibrated {
            key: known.key.clone(),
            fresh,
            collected: known.collected(),
            passed: known.passed(),
        });
        all.isolated &= known.isolated;
        all.key.push_str(&known.key[..known.key.len().min(16)]);
        all.suites.extend(known.suites);
    }
    Ok(all)
}

/// A calibration without suites yet.
fn empty(ground: &Ground, key: &str) -> Calibration {
    Calibration {
        schema: 1,
        key: key.into(),
        task: ground.task.id().into(),
        created_s: now_s(),
        engine: ground.engine,
        environment: ground.environment.hash.clone(),
        isolated: true,
        runs: 1,
        suites: BTreeMap::new(),
    }
}

fn gold(ground: &Ground) -> Subjected {
    Subjected {
        subject: Subject::Gold,
        tree: ground.trees.gold,
    }
}

async fn build_gold(
    ground: &Ground,
    spec: &BuildSpec,
    isolated: &Arc<AtomicBool>,
) -> Result<(), Stop> {
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
    recorder: &Recorder,
    isolated: &Arc<AtomicBool>,
) -> Result<Calibration, Stop> {
    let none = empty(ground, key);
    let ran = one_suite(ground, &gold(ground), suite, &none, &[], recorder, isolated).await?;
    let results = match ran {
        SuiteResult::Ran {
            results,
            discrepancies: 0,
            ..
        } => results,
        SuiteResult::Ran { discrepancies, .. } => {
            return Err(Stop::Fault(format!(
                "gold's reports on the {suite} suite disagree {discrepancies} times (see the run's log), so they cannot calibrate"
            )));
        }
        SuiteResult::Environment(message) => {
            return Err(Stop::Input(format!(
                "the environment cannot run the {suite} suite: {message}"
            )));
        }
    };
    if results.is_empty() {
        return Err(Stop::Input(format!(
            "gold collects no case of the {suite} suite; correct [suites.{suite}] in task.toml"
        )));
    }
    let cases = results
        .iter()
        .map(|r| CalibratedCase {
            id: r.id.clone(),
            outcome: r.outcome,
            duration_s: r.duration_s,
        })
        .collect();
    let duration_s = results.iter().map(|r| r.duration_s).sum();
    Ok(Calibration {
        isolated: isolated.load(Ordering::Relaxed),
        suites: BTreeMap::from([(suite, SuiteCalibration { cases, duration_s })]),
        ..none
    })
}

fn key(ground: &Ground, suite: Suite) -> Result<String, Stop> {
    let fault = |e: String| Stop::Fault(e);
    let spec = &ground.task.spec;
    let dir = ground
        .trees
        .suite_dir(&ground.task, suite, &ground.scratch)?;
    let tests = hash_tree(&dir).map_err(|e| fault(e.to_string()))?;
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
        engine: ground.engine,
        reporter: &reporter_hash(),
    }
    .hash()
    .map_err(|e| fault(e.to_string()))
}
