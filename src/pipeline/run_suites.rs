//! A suite on a subject's tree: the tree is written out, tests replaced, configuration restored,
//! then the ranks run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use git2::Oid;

use super::build::built_tree;
use super::disk::Disk;
use super::error::Stop;
use super::evidence::rewritten_tests;
use super::ground::Ground;
use super::place::{Place, WORKTREE};
use super::recorder::Recorder;
use super::suite::{SuiteError, SuiteRun, Twins, run_suite, run_twins, twin_tree};
use super::trees::Trees;
use crate::domain::{
    Calibration, CaseId, CaseResult, Deviation, Event, Level, Subject, Suite, SuiteCalibration,
    Task,
};
use crate::workspace::{Replaced, remove_suite, replace_suite, restore_configuration};

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
        /// None for gold, which needs none.
        twins: Option<Twins>,
        discrepancies: usize,
        deviations: Vec<Deviation>,
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
    let disk = watched(&worktree).await?;
    let (guard, mut full) = Disk::guard(&disk);
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
    drop(guard);
    if full.try_recv().is_ok() {
        filled(disk, subjected.subject, suite, recorder).await?;
    }
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
    let mut twins = twins?;
    if let Some(twins) = &mut twins {
        let passed = std::mem::take(&mut twins.passed);
        twins.passed = unexcused(ground, suite, &run, passed, recorder, isolated).await?;
    }
    let mut deviations = outcome.deviations;
    let laid = ground
        .trees
        .suite_dir(&ground.task, suite, &ground.scratch)?;
    deviations.extend(rewritten_tests(ground, suite, &worktree, laid).await?);
    Ok(SuiteResult::Ran {
        results: outcome.results,
        twins,
        discrepancies: outcome.discrepancies.len(),
        deviations,
    })
}

/// Counts what is in the tree now, off the runtime's threads.
async fn watched(worktree: &Path) -> Result<Arc<Disk>, Stop> {
    let roots = vec![worktree.to_path_buf()];
    tokio::task::spawn_blocking(move || Arc::new(Disk::unbounded(roots)))
        .await
        .map_err(|e| Stop::Fault(format!("disk: {e}")))
}

/// The disk was full while a suite ran: a fault where others filled it, and of gold always, as what
/// it fails then would never be asked of a submission.
async fn filled(
    disk: Arc<Disk>,
    subject: Subject,
    suite: Suite,
    recorder: &Recorder,
) -> Result<(), Stop> {
    let blamed = tokio::task::spawn_blocking(move || disk.blamed())
        .await
        .map_err(|e| Stop::Fault(format!("disk: {e}")))?;
    match blamed {
        Ok(took) if subject == Subject::Submission => {
            let words = format!("{suite}: it filled the disk: {took}");
            recorder.say(Level::Warn, words);
            Ok(())
        }
        Ok(took) => Err(Stop::Fault(format!(
            "the disk was full while {} ran on the {suite} suite: {took}",
            subject.name()
        ))),
        Err(why) => Err(Stop::Fault(why)),
    }
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
    let tests = Tests {
        kind: "twins",
        own: source,
        official: None,
    };
    let worktree = lay(ground, subjected, suite, Some(tests), None).await?;
    let mut place = Place::new(ground, &worktree, spec.ranks, life(spec.limit_s), isolated);
    // every probe has its twin; of the official cases a sample, another one each time
    let sample = (suite == Suite::Official).then_some(seed);
    run_twins(&mut place, run, &functions, sample)
        .await
        .map_err(fault)
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

/// Tests to lay instead of those in the task's folder.
pub(super) struct Tests {
    /// What the work tree's name ends in.
    pub kind: &'static str,
    pub own: PathBuf,
    /// The official ones, beside others.
    pub official: Option<PathBuf>,
}

/// Writes the work tree of a suite: the subject's tree, with the suite's tests (or those in `tests`)
/// and gold's test configuration. `tell`: what is replaced and restored.
pub(super) async fn lay(
    ground: &Ground,
    subjected: &Subjected,
    suite: Suite,
    tests: Option<Tests>,
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
            tests,
            recorder.as_ref(),
        )
    })
    .await
    .map_err(|e| Stop::Fault(format!("work tree: {e}")))?
}

/// Where the work tree of a suite is laid.
pub(super) fn worktree(
    scratch: &Path,
    subjected: Subjected,
    suite: Suite,
    tests: Option<&Tests>,
) -> PathBuf {
    let kind = tests.map_or("tree", |tests| tests.kind);
    scratch.join(format!("{}-{suite}-{kind}", subjected.folder()))
}

fn lay_now(
    trees: &Trees,
    task: &Task,
    scratch: &Path,
    subjected: Subjected,
    suite: Suite,
    tests: Option<Tests>,
    tell: Option<&Recorder>,
) -> Result<PathBuf, Stop> {
    let fault = |e: crate::workspace::WorkspaceError| Stop::Fault(e.to_string());
    let subject = subjected.subject;
    let work = worktree(scratch, subjected, suite, tests.as_ref());
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
    let into = task
        .spec
        .suites
        .get(suite)
        .map(|s| s.into.clone())
        .unwrap_or_default();
    let official = tests.as_ref().and_then(|tests| tests.official.clone());
    let mut replaced = lay_others(trees, task, scratch, (suite, &into, official), &work)?;
    let own = match tests {
        Some(tests) => tests.own,
        None => trees.suite_dir(task, suite, scratch)?,
    };
    replaced.extend(replace_suite(&work, &into, &own).map_err(fault)?);
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

/// The folders of the other suites, before the suite's own: what a patch left there would be read
/// by nobody and could be imported. The official tests are gold's, as the project has them; probes
/// are not there while others run.
fn lay_others(
    trees: &Trees,
    task: &Task,
    scratch: &Path,
    (suite, into, official): (Suite, &str, Option<PathBuf>),
    work: &Path,
) -> Result<Replaced, Stop> {
    let fault = |e: crate::workspace::WorkspaceError| Stop::Fault(e.to_string());
    let mut all = Replaced::default();
    for other in Suite::ALL.into_iter().filter(|other| *other != suite) {
        let Some(spec) = task.spec.suites.get(other) else {
            continue;
        };
        all.extend(match other {
            Suite::Official => {
                let tests = match &official {
                    Some(official) => official.clone(),
                    None => trees.suite_dir(task, other, scratch)?,
                };
                replace_suite(work, &spec.into, &tests).map_err(fault)?
            }
            // the suite's own folder stays a part of what is around it
            Suite::Probes if Path::new(into).starts_with(&spec.into) => continue,
            Suite::Probes => remove_suite(work, &spec.into).map_err(fault)?,
        });
    }
    Ok(all)
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
