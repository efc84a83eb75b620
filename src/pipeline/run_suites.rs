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
use super::suite::{SuiteError, SuiteRun, Twins, run_suite, run_twins, twin_tree};
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
    /// Tells work trees apart where several patches run beside each other; else 0.
    pub slot: u32,
}

impl Subjected {
    /// What the names of its folders in the scratch begin with.
    pub fn folder(&self) -> String {
        match self.slot {
            0 => self.subject.name().to_owned(),
            slot => format!("{}-{slot}", self.subject.name()),
        }
    }
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
    let tell = (subjected.subject == Subject::Submission).then_some(recorder);
    let worktree = lay(ground, subjected, suite, None, tell).await?;
    let run = suite_run(
        ground,
        subjected.subject,
        suite,
        gold,
        only,
        Some(ground.run.path()),
    );
    let mut place = Place::new(ground, &worktree, spec.ranks, life(spec.limit_s), isolated);
    let real = run_suite(&mut place, &run, |event| recorder.record(event));
    // gold's own run needs no twins; beside GPUs they wait, so as not to share them
    let (ran, twins) = if subjected.subject == Subject::Gold {
        (real.await, Ok(None))
    } else if ground.task.spec.hardware.gpus > 0 {
        let ran = real.await;
        (
            ran,
            twins(ground, subjected, suite, &run, isolated)
                .await
                .map(Some),
        )
    } else {
        let twins = twins(ground, subjected, suite, &run, isolated);
        let (ran, twins) = tokio::join!(real, twins);
        (ran, twins.map(Some))
    };
    let outcome = match ran {
        Ok(outcome) => outcome,
        Err(SuiteError::Environment(message)) => return Ok(SuiteResult::Environment(message)),
        Err(e) => return Err(Stop::Fault(e.to_string())),
    };
    for odd in &outcome.discrepancies {
        recorder.record(Event::Disagreed {
            subject: subjected.subject,
            suite,
            rank: odd.rank,
            case: odd.case.clone(),
            detail: odd.detail.clone(),
        });
    }
    let mut twins_passed = Vec::new();
    if let Some(twins) = twins? {
        twins_passed = unexcused(ground, suite, &run, twins.passed, recorder, isolated).await?;
        recorder.record(Event::Twins {
            suite,
            run: twins.run,
            passed: twins_passed.clone(),
        });
    }
    Ok(SuiteResult::Ran {
        results: outcome.results,
        twins_passed,
        discrepancies: outcome.discrepancies.len(),
    })
}

/// Runs the must-fail twins of a suite on the subject's tree, in a sandbox of their own.
async fn twins(
    ground: &Ground,
    subjected: &Subjected,
    suite: Suite,
    run: &SuiteRun,
    isolated: &Arc<AtomicBool>,
) -> Result<Twins, Stop> {
    let fault = |e: SuiteError| Stop::Fault(format!("must-fail twins: {e}"));
    let tests = ground
        .trees
        .suite_dir(&ground.task, suite, &ground.scratch)?;
    let spec = ground
        .task
        .spec
        .suites
        .get(suite)
        .unwrap_or(&ground.task.spec.suites.official);
    let source = ground
        .scratch
        .join(format!("{}-{suite}-twins-source", subjected.folder()));
    let seed = seed()?;
    let functions =
        twin_tree(&tests, &source, &spec.into, &format!("{seed:016x}")).map_err(fault)?;
    let worktree = lay(ground, subjected, suite, Some(source), None).await?;
    let mut place = Place::new(ground, &worktree, spec.ranks, life(spec.limit_s), isolated);
    // every probe has its twin; of the official cases a sample, another one each time
    let sample = (suite == Suite::Official).then_some(seed);
    match run_twins(&mut place, run, &functions, sample).await {
        Ok(twins) => Ok(twins),
        // what the real run is told as well: it speaks for both
        Err(SuiteError::Environment(_)) => Ok(Twins::default()),
        Err(e) => Err(fault(e)),
    }
}

/// A twin that passes on gold too says something about the test, not about the submission: gold's
/// twins of the cases concerned are run, and those that pass there are excused.
async fn unexcused(
    ground: &Ground,
    suite: Suite,
    run: &SuiteRun,
    passed: Vec<CaseId>,
    recorder: &Recorder,
    isolated: &Arc<AtomicBool>,
) -> Result<Vec<CaseId>, Stop> {
    if passed.is_empty() {
        return Ok(passed);
    }
    let mut run = run.clone();
    run.only = Some(passed.clone());
    let gold = Subjected {
        subject: Subject::Gold,
        tree: ground.trees.gold,
        slot: 0,
    };
    let on_gold = twins(ground, &gold, suite, &run, isolated).await?;
    for id in &on_gold.passed {
        recorder.say(
            Level::Warn,
            format!("{suite}: {id} cannot fail: with a raise in its body it passes on gold"),
        );
    }
    Ok(passed
        .into_iter()
        .filter(|id| !on_gold.passed.contains(id))
        .collect())
}

fn seed() -> Result<u64, Stop> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|e| Stop::Fault(format!("no randomness: {e}")))?;
    Ok(u64::from_le_bytes(bytes))
}

/// How long a suite's sandbox may last.
pub(super) fn life(limit_s: f64) -> Duration {
    Duration::from_secs_f64(limit_s.max(1.0)) + LIFE_GRACE
}

pub(super) fn suite_run(
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
/// `tests`) and gold's test configuration. `tell`: what is replaced and restored.
pub(super) async fn lay(
    ground: &Ground,
    subjected: &Subjected,
    suite: Suite,
    tests: Option<PathBuf>,
    tell: Option<&Recorder>,
) -> Result<PathBuf, Stop> {
    let trees = Arc::clone(&ground.trees);
    let task = ground.task.clone();
    let scratch = ground.scratch.clone();
    let subjected = *subjected;
    let recorder = tell.cloned();
    tokio::task::spawn_blocking(move || {
        lay_now(
            &trees,
            &task,
            &scratch,
            subjected,
            suite,
            tests.as_deref(),
            recorder.as_ref(),
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
    tell: Option<&Recorder>,
) -> Result<PathBuf, Stop> {
    let fault = |e: crate::workspace::WorkspaceError| Stop::Fault(e.to_string());
    let subject = subjected.subject;
    let kind = if twins.is_some() { "twins" } else { "tree" };
    let work = scratch.join(format!("{}-{suite}-{kind}", subjected.folder()));
    match std::fs::remove_dir_all(&work) {
        // gold runs several times, each on a tree of its own
        Ok(()) => {}
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
        Err(e) => return Err(Stop::Fault(format!("{}: {e}", work.display()))),
    }
    let built = built_tree(scratch, &subjected);
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
    if let Some(recorder) = tell {
        tell_replaced(recorder, subject, suite, &replaced);
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

fn tell_replaced(recorder: &Recorder, subject: Subject, suite: Suite, replaced: &Replaced) {
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
