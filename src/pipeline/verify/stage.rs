//! From the order to the record: cells, the rule, what was found.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::candidates::{Candidate, candidates};
use super::cells::{Cells, Slot};
use super::keys::{SuiteFiles, acceptance_key};
use crate::domain::acceptance::{Acceptance, Role, Standing};
use crate::domain::{Calibration, Event, Level, Manifest, Stage, Subject, Suite};
use crate::judge::acceptance::{About, PatchEvidence, SuiteRuns, accept};
use crate::pipeline::calibrate::{empty, key, part};
use crate::pipeline::error::Stop;
use crate::pipeline::grade::Timer;
use crate::pipeline::ground::{Ground, prepare};
use crate::pipeline::recorder::Recorder;
use crate::store::{Home, RunDir, keep_acceptance, keep_calibration, now_s};

/// Verifies a task: whether every part of the acceptance rule holds. `runs`: of gold.
pub(in crate::pipeline) async fn verify(
    home: &Home,
    run: &RunDir,
    manifest: &Manifest,
    runs: u32,
    recorder: &Recorder,
) -> Result<Standing, Stop> {
    let timer = Timer::start(recorder, Stage::Prepare, Subject::Gold);
    let ground = prepare(home, run, manifest, recorder).await?;
    timer.stop();
    let task = ground.task.clone();
    let timer = Timer::start(recorder, Stage::Verify, Subject::Gold);
    let made = on_ground(home, &ground, runs, recorder).await;
    let made = ground.end(made, recorder).await?;
    timer.stop();
    match keep_acceptance(run, &task, &made)? {
        Ok(path) => recorder.say(Level::Info, format!("recorded in {}", path.display())),
        Err(e) => recorder.say(
            Level::Warn,
            format!("the task's folder does not take it ({e}); it is in the run's"),
        ),
    }
    let standing = made.standing;
    recorder.record(Event::Verified {
        standing,
        broken: made.broken().map(|r| r.rule).collect(),
        revise: made.revise.len(),
        warnings: made.warnings.len(),
    });
    Ok(standing)
}

async fn on_ground(
    home: &Home,
    ground: &Ground,
    runs: u32,
    recorder: &Recorder,
) -> Result<Acceptance, Stop> {
    let key = acceptance_key(&ground.task, runs)?;
    let isolated = Arc::new(AtomicBool::new(true));
    let candidates = candidates(ground, &isolated).await?;
    let mut files = BTreeMap::new();
    for suite in Suite::ALL {
        if let Some(spec) = ground.task.spec.suites.get(suite) {
            let dir = ground
                .trees
                .suite_dir(&ground.task, suite, &ground.scratch)?;
            files.insert(suite, SuiteFiles::read(&dir, &spec.into)?);
        }
    }
    if let Err((cause, message)) = &candidates[0].tree {
        return Err(Stop::Input(format!("gold ({}): {message}", cause.name())));
    }
    let mut cells = Cells {
        home,
        ground,
        candidates: &candidates,
        files: &files,
        recorder,
        isolated: &isolated,
        results: BTreeMap::new(),
    };
    let (first, others) = slots(&candidates, &files, runs);
    let beside = beside(ground);
    recorder.say(
        Level::Info,
        format!(
            "{} patches, {} cells, {beside} beside each other",
            candidates.len(),
            first.len() + others.len()
        ),
    );
    // what gold collects is what is expected of the others
    cells.fill(first, beside).await?;
    cells.fill(others, beside).await?;
    let evidence = evidence(&candidates, cells.results);
    keep_gold(home, ground, &evidence[0], isolated.load(Ordering::Relaxed))?;
    let about = About {
        run: ground.run.id().0,
        key,
        engine: ground.engine_kind(),
        environment: ground.environment.hash.clone(),
        created_s: now_s(),
        runs,
    };
    Ok(accept(&ground.task.spec, &evidence, &about))
}

/// Gold has run as a calibration has it run: no grade under the same key needs it again.
fn keep_gold(
    home: &Home,
    ground: &Ground,
    gold: &PatchEvidence,
    isolated: bool,
) -> Result<(), Stop> {
    for (suite, runs) in &gold.runs {
        let part = part(ground, *suite, &key(ground, *suite)?, runs);
        if part.passed() > 0 {
            let made = Calibration {
                isolated,
                suites: BTreeMap::from([(*suite, part)]),
                ..empty(ground)
            };
            keep_calibration(home, &made)?;
        }
    }
    Ok(())
}

/// Gold's first runs, and everything else.
fn slots(
    candidates: &[Candidate],
    files: &BTreeMap<Suite, SuiteFiles>,
    runs: u32,
) -> (Vec<Slot>, Vec<Slot>) {
    let mut all = Vec::new();
    for (index, candidate) in candidates.iter().enumerate() {
        if candidate.tree.is_err() {
            continue;
        }
        let times = if candidate.role == Role::Gold {
            runs.max(1)
        } else {
            1
        };
        for suite in files.keys() {
            all.extend((1..=times).map(|run| Slot {
                candidate: index,
                suite: *suite,
                run,
            }));
        }
    }
    all.into_iter()
        .partition(|s| s.candidate == 0 && s.run == 1)
}

/// How many cells run at a time: as many as have a core for each rank and their memory; one where
/// there are GPUs, which they would share.
fn beside(ground: &Ground) -> usize {
    let spec = &ground.task.spec;
    if spec.hardware.gpus > 0 {
        return 1;
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let ranks = Suite::ALL
        .iter()
        .filter_map(|s| spec.suites.get(*s))
        .map(|s| s.ranks.max(1));
    let by_cores = cores.div_ceil(ranks.min().unwrap_or(1) as usize);
    by_cores.min(by_memory(spec.limits.memory_mib)).max(1)
}

fn by_memory(each_mib: u64) -> usize {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free = text.lines().find_map(|l| {
        let kib = l
            .strip_prefix("MemAvailable:")?
            .trim()
            .strip_suffix(" kB")?;
        kib.trim().parse::<u64>().ok()
    });
    free.map_or(usize::MAX, |kib| (kib / 1024 / each_mib.max(1)) as usize)
}

fn evidence(
    candidates: &[Candidate],
    mut results: BTreeMap<Slot, Vec<crate::domain::CaseResult>>,
) -> Vec<PatchEvidence> {
    let mut all: Vec<PatchEvidence> = candidates
        .iter()
        .map(|c| PatchEvidence {
            role: c.role,
            name: c.name.clone(),
            claim: c.claim.clone(),
            refused: c.tree.as_ref().err().cloned(),
            runs: SuiteRuns::new(),
        })
        .collect();
    // in the order of the runs
    while let Some((slot, cases)) = results.pop_first() {
        let runs = &mut all[slot.candidate].runs;
        runs.entry(slot.suite).or_default().push(cases);
    }
    all
}
