//! A suite on a subject's tree: the tree is written out, tests replaced, configuration restored,
//! then the ranks run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use git2::Oid;

use super::build::built_tree;
use super::error::Stop;
use super::ground::Ground;
use super::place::{Place, WORKTREE};
use super::recorder::Recorder;
use super::suite::{SuiteError, SuiteRun, run_suite};
use super::trees::Trees;
use crate::domain::{
    Calibration, CaseId, CaseResult, Event, Level, Subject, Suite, SuiteCalibration, Task,
};
use crate::workspace::{Replaced, replace_suite, restore_configuration};

/// A subject and the tree that its patch made.
#[derive(Clone, Copy)]
pub(super) struct Subjected {
    pub subject: Subject,
    pub tree: Oid,
}

pub(super) enum SuiteResult {
    Ran {
        results: Vec<CaseResult>,
        twins_passed: Vec<CaseId>,
        discrepancies: usize,
    },
    /// The test runner cannot be used on this tree.
    Environment(String),
}

/// A sandbox outlives its suite's limit by this much, so that the suite's own limits speak first.
const LIFE_GRACE: Duration = Duration::from_secs(60);

/// Runs one suite. `only`: these cases, none: all.
pub(super) async fn one_suite(
    ground: &Ground,
    subjected: &Subjected,
    suite: Suite,
    calibration: &Calibration,
    only: &[CaseId],
    recorder: &Recorder,
    isolated: &Arc<AtomicBool>,
) -> Result<SuiteResult, Stop> {
    let Some(spec) = ground.task.spec.suites.get(suite) else {
        return Err(Stop::Input(format!(
            "task {} has no {suite} suite",
            ground.task.id()
        )));
    };
    let gold = calibration.suites.get(&suite);
    let worktree = lay(ground, subjected, suite, None, recorder).await?;
    let run = suite_run(
        ground,
        subjected.subject,
        suite,
        gold,
        only,
        Some(ground.run.path()),
    );
    let life = Duration::from_secs_f64(spec.limit_s.max(1.0)) + LIFE_GRACE;
    let mut place = Place::new(ground, &worktree, spec.ranks, life, isolated);
    let ran = run_suite(&mut place, &run, |event| recorder.record(event)).await;
    let outcome = match ran {
        Ok(outcome) => outcome,
        Err(SuiteError::Environment(message)) => return Ok(SuiteResult::Environment(message)),
        Err(e) => return Err(Stop::Fault(e.to_string())),
    };
    for odd in &outcome.discrepancies {
        let case = odd
            .case
            .as_ref()
            .map(|c| format!(" {c}"))
            .unwrap_or_default();
        recorder.say(
            Level::Warn,
            format!(
                "{suite}: reports disagree (rank {}){case}: {}",
                odd.rank, odd.detail
            ),
        );
    }
    Ok(SuiteResult::Ran {
        results: outcome.results,
        twins_passed: Vec::new(),
        discrepancies: outcome.discrepancies.len(),
    })
}

fn suite_run(
    ground: &Ground,
    subject: Subject,
    suite: Suite,
    gold: Option<&SuiteCalibration>,
    only: &[CaseId],
    record: Option<&Path>,
) -> SuiteRun {
    let spec = &ground.task.spec;
    let suite_spec = spec.suites.get(suite).unwrap_or(&spec.suites.official);
    let slowest_s = gold.map(|g| g.cases.iter().map(|c| c.duration_s).fold(0.0, f64::max));
    let mut run = SuiteRun::of((subject, suite), suite_spec, &spec.limits, slowest_s);
    run.python.clone_from(&ground.environment.python);
    run.worktree = PathBuf::from(WORKTREE);
    run.pythonpath.clone_from(&spec.environment.pythonpath);
    run.record = record.map(Path::to_path_buf);
    run.expected = gold.map(|g| {
        let ids = g.cases.iter().map(|c| c.id.clone());
        ids.filter(|id| only.is_empty() || only.contains(id))
            .collect()
    });
    run.only = (!only.is_empty()).then(|| only.to_vec());
    run
}

/// Writes the work tree of a suite: the subject's tree, with the suite's tests (or their twins, in
/// `tests`) and gold's test configuration.
async fn lay(
    ground: &Ground,
    subjected: &Subjected,
    suite: Suite,
    tests: Option<PathBuf>,
    recorder: &Recorder,
) -> Result<PathBuf, Stop> {
    let trees = Arc::clone(&ground.trees);
    let task = ground.task.clone();
    let scratch = ground.scratch.clone();
    let subjected = *subjected;
    let recorder = recorder.clone();
    tokio::task::spawn_blocking(move || {
        lay_now(
            &trees,
            &task,
            &scratch,
            subjected,
            suite,
            tests.as_deref(),
            &recorder,
        )
    })
    .await
    .map_err(|e| Stop::Fault(format!("work tree: {e}")))?
}

fn lay_now(
    trees: &Trees,
    task: &Task,
    scratch: &Path,
    subjected: Subjected,
    suite: Suite,
    twins: Option<&Path>,
    recorder: &Recorder,
) -> Result<PathBuf, Stop> {
    let fault = |e: crate::workspace::WorkspaceError| Stop::Fault(e.to_string());
    let subject = subjected.subject;
    let kind = if twins.is_some() { "twins" } else { "tree" };
    let work = scratch.join(format!("{}-{suite}-{kind}", subject.name()));
    let built = built_tree(scratch, subject);
    let tree = if built.is_dir() {
        trees.snapshot.import_dir(&built).map_err(fault)?
    } else {
        subjected.tree
    };
    trees.snapshot.write_tree(tree, &work).map_err(fault)?;
    let tests = trees.suite_dir(task, suite, scratch)?;
    let into = task
        .spec
        .suites
        .get(suite)
        .map(|s| s.into.clone())
        .unwrap_or_default();
    let replaced = replace_suite(&work, &into, twins.unwrap_or(&tests)).map_err(fault)?;
    let suites: Vec<&str> = Suite::ALL
        .iter()
        .filter_map(|s| task.spec.suites.get(*s))
        .map(|s| s.into.as_str())
        .collect();
    let pythonpath: Vec<&str> = task
        .spec
        .environment
        .pythonpath
        .iter()
        .map(String::as_str)
        .collect();
    let restored = restore_configuration(&work, &trees.snapshot, trees.gold, &suites, &pythonpath)
        .map_err(fault)?;
    if subject == Subject::Submission && twins.is_none() {
        tell(recorder, subject, suite, &replaced);
        for r in restored {
            recorder.record(Event::Restored {
                subject,
                suite,
                path: r.path.to_string_lossy().into_owned(),
                action: format!("{} ({})", r.action.name(), r.why),
            });
        }
    }
    Ok(work)
}

fn tell(recorder: &Recorder, subject: Subject, suite: Suite, replaced: &Replaced) {
    for (paths, action) in [
        (&replaced.extras, "deleted"),
        (&replaced.edits, "edit dropped"),
        (&replaced.obstacles, "obstacle removed"),
    ] {
        for path in paths {
            recorder.record(Event::Restored {
                subject,
                suite,
                path: path.to_string_lossy().into_owned(),
                action: action.into(),
            });
        }
    }
}
