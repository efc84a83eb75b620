//! From the order to the record: cells, the rule, what was found.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::candidates::{Candidate, build_all};
use super::cells::{Cells, Results, Slot};
use super::edits::Edits;
use super::hollow::Mending;
use super::keys::trees_key;
use super::limits::beside;
use super::memory::Memory;
use super::reading::{Suites, TRIES, read};
use super::warm::Warm;
use super::watch::watch;
use crate::catalog::{load_task, without_twin};
use crate::domain::acceptance::{Acceptance, Finding, FindingKind, Role, Standing};
use crate::domain::manifest::Again;
use crate::domain::{
    Calibration, CaseResult, Deviation, Event, Level, Manifest, Stage, Subject, Suite, Task, Work,
};
use crate::judge::acceptance::{About, HollowStory, PatchEvidence, accept, rounds_before};
use crate::pipeline::calibrate::empty;
use crate::pipeline::error::Stop;
use crate::pipeline::gold::part;
use crate::pipeline::grade::Timer;
use crate::pipeline::ground::{Ground, prepare};
use crate::pipeline::recorder::Recorder;
use crate::pipeline::trees::Trees;
use crate::store::{Home, RunDir, keep_acceptance, keep_calibration, now_s, recorded_acceptance};

/// Verifies a task: whether every part of the acceptance rule holds. `runs`: of gold. `watch_s`: then
/// again after each edit, until there was none for so long.
pub(in crate::pipeline) async fn verify(
    home: &Home,
    run: &RunDir,
    manifest: &Manifest,
    (runs, watch_s): (u32, Option<u64>),
    recorder: &Recorder,
) -> Result<Standing, Stop> {
    let timer = Timer::start(recorder, Stage::Prepare, Subject::Gold);
    // before anything is read: what is written from here on is an edit
    let edits = watch_s.map(|_| Edits::of(&manifest.task_dir)).transpose()?;
    let (ground, trees) = prepared(home, run, manifest, recorder).await?;
    let ground = Arc::new(ground);
    timer.stop();
    let timer = Timer::start(recorder, Stage::Verify, Subject::Gold);
    let memory = Arc::new(Memory::default());
    let round = Round {
        home,
        manifest,
        runs,
        recorder,
        warm: None,
        memory: &memory,
        assumed: None,
    };
    let again = match &manifest.work {
        Work::Verify { again, .. } => again.as_slice(),
        _ => &[],
    };
    let made = round.run(&ground, again, 1).await;
    if let (Some(mut edits), Some(seconds)) = (edits, watch_s) {
        let first = made.and_then(|made| keep(run, &ground, made, recorder));
        let mut ground = ground;
        let stands = match first {
            Ok(kept) => {
                let idle = Duration::from_secs(seconds);
                watch(&round, &mut ground, trees, &mut edits, idle, kept).await
            }
            Err(stop) => Err(stop),
        };
        let stands = end(ground, stands, recorder).await;
        timer.stop();
        return stands;
    }
    let task = ground.task.clone();
    let made = end(ground, made, recorder).await?;
    timer.stop();
    keep_of(run, &task, made.acceptance, recorder)
}

/// The ground, and of what its trees are made; both of one moment.
async fn prepared(
    home: &Home,
    run: &RunDir,
    manifest: &Manifest,
    recorder: &Recorder,
) -> Result<(Ground, String), Stop> {
    let of = |ground: &Ground| trees_key(&ground.task);
    let before = load_task(&manifest.task_dir).task.as_ref().map(trees_key);
    let mut ground = prepare(home, run, manifest, recorder).await?;
    let mut key = of(&ground)?;
    if !matches!(before, Some(Ok(before)) if before == key) {
        key = reopen(home, &mut ground)?;
    }
    Ok((ground, key))
}

/// Opens the trees again until nothing of them was written meanwhile. Blocks for as long as they are
/// small.
pub(super) fn reopen(home: &Home, ground: &mut Ground) -> Result<String, Stop> {
    for _ in 0..TRIES {
        let before = trees_key(&ground.task)?;
        ground.trees = Arc::new(Trees::open(home, &ground.task)?);
        if trees_key(&ground.task)? == before {
            return Ok(before);
        }
    }
    Err(Stop::Input("base or gold change all the time".into()))
}

async fn end<T>(
    ground: Arc<Ground>,
    work: Result<T, Stop>,
    recorder: &Recorder,
) -> Result<T, Stop> {
    match Arc::into_inner(ground) {
        Some(ground) => ground.end(work, recorder).await,
        None => Err(Stop::Fault("something still reads the task".into())),
    }
}

/// Keeps what a round of a run that goes on came to.
pub(super) fn keep(
    run: &RunDir,
    ground: &Ground,
    made: Made,
    recorder: &Recorder,
) -> Result<(Standing, Made), Stop> {
    let standing = keep_of(run, &ground.task, made.acceptance.clone(), recorder)?;
    Ok((standing, made))
}

fn keep_of(
    run: &RunDir,
    task: &Task,
    mut made: Acceptance,
    recorder: &Recorder,
) -> Result<Standing, Stop> {
    made.earlier = rounds_before(&made, recorded_acceptance(task).as_ref());
    match keep_acceptance(run, task, &mut made)? {
        None => recorder.say(
            Level::Warn,
            format!(
                "provisional: {}",
                made.provisional.as_deref().unwrap_or_default()
            ),
        ),
        Some(Ok(path)) => recorder.say(Level::Info, format!("recorded in {}", path.display())),
        Some(Err(e)) => recorder.say(
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

/// What a round came to, and what it rested on.
pub(super) struct Made {
    pub acceptance: Acceptance,
    pub candidates: Vec<Candidate>,
    pub suites: Suites,
    pub slots: Vec<Slot>,
    /// Slots of which something ran, and those that were known.
    pub ran: usize,
    pub kept: usize,
    /// When the last cell was known, in seconds since the epoch.
    pub known_s: f64,
    /// When gold had run as a whole, where that was not known with the last cell.
    pub confirmed_s: Option<f64>,
    /// Gold's first runs.
    pub gold: BTreeMap<Suite, Vec<CaseResult>>,
}

/// Every patch on both suites, once.
pub(super) struct Round<'a> {
    pub home: &'a Home,
    pub manifest: &'a Manifest,
    pub runs: u32,
    pub recorder: &'a Recorder,
    pub warm: Option<&'a Warm>,
    pub memory: &'a Arc<Memory>,
    /// Gold's first runs of the round before.
    pub assumed: Option<&'a BTreeMap<Suite, Vec<CaseResult>>>,
}

impl Round<'_> {
    pub async fn run(
        &self,
        ground: &Arc<Ground>,
        again: &[Again],
        number: u32,
    ) -> Result<Made, Stop> {
        let Self {
            home,
            runs,
            recorder,
            memory,
            ..
        } = *self;
        let isolated = Arc::new(AtomicBool::new(true));
        let reading = read(ground, runs, number, memory).await?;
        let (suites, mut candidates) = (reading.suites, reading.candidates);
        if let Some(warm) = self.warm {
            warm.compile(&suites).await;
        }
        build_all(ground, &isolated, &mut candidates, 1).await?;
        if let Err((cause, message)) = &candidates[0].tree {
            return Err(Stop::Input(format!("gold ({}): {message}", cause.name())));
        }
        let shares = memory.shares();
        let mut cells = Cells {
            home,
            ground,
            candidates: &candidates,
            suites: &suites,
            recorder,
            isolated: &isolated,
            again,
            warm: self.warm,
            memory,
            assumed: self.assumed.cloned().unwrap_or_default(),
            // an edit is answered by what is stale of gold, too, before gold runs as a whole
            whole_gold: number == 1,
            known: Results {
                together: shares.together,
                shares: shares.words,
                ..Results::default()
            },
        };
        let (first, others) = slots(&candidates, &suites, runs);
        let beside = beside(ground);
        if number == 1 {
            recorder.say(
                Level::Info,
                format!(
                    "{} patches, {} cells, {beside} beside each other",
                    candidates.len(),
                    first.len() + others.len()
                ),
            );
        }
        let all: Vec<Slot> = first.iter().chain(&others).copied().collect();
        // what gold collects is what is expected of the others
        Box::pin(cells.fill_all(first, others, beside)).await?;
        let mending = Mending {
            home,
            ground,
            suites: &suites,
            recorder,
            isolated: &isolated,
            again,
            warm: self.warm,
            memory,
            beside,
            whole_gold: number == 1,
        };
        let known = cells.known;
        let (known, hollow) = Box::pin(mending.mended(&mut candidates, known)).await?;
        let mut cells = mending.cells(&candidates, known);
        let known_s = now_s();
        let (ran, kept) = (cells.known.ran, cells.known.kept);
        let is_confirmed = cells.is_confirmed(&all)?;
        if !is_confirmed {
            let (_, answer) = self.judged(&cells, &reading.key, &hollow)?;
            recorder.record(provisional(&answer));
        }
        Box::pin(cells.confirm(&all, beside)).await?;
        let confirmed_s = (!is_confirmed).then(now_s);
        let (evidence, mut acceptance) = self.judged(&cells, &reading.key, &hollow)?;
        // all probes are read for it: for what is recorded, not for an edit's first answer
        acceptance.warnings.extend(untwinned(&ground.task));
        let known = cells.known;
        let first = |(slot, cases): (&Slot, &Vec<CaseResult>)| {
            (slot.candidate == 0 && slot.run == 1).then(|| (slot.suite, cases.clone()))
        };
        let gold = known.by_slot.iter().filter_map(first).collect();
        keep_gold(
            home,
            ground,
            (&evidence[0], &known.of_gold, &reading.calibrations),
            isolated.load(Ordering::Relaxed),
        )?;
        Ok(Made {
            acceptance,
            candidates,
            suites,
            slots: all,
            ran,
            kept,
            known_s,
            confirmed_s,
            gold,
        })
    }

    /// By what is known now.
    fn judged(
        &self,
        cells: &Cells<'_>,
        key: &str,
        hollow: &HollowStory,
    ) -> Result<(Vec<PatchEvidence>, Acceptance), Stop> {
        let ground = cells.ground;
        let about = About {
            run: ground.run.id().0,
            key: key.to_owned(),
            engine: ground.engine_kind(),
            environment: ground.environment.hash.clone(),
            image: ground.image_id().map(str::to_owned),
            gpu_type: ground.gpu_type().map(str::to_owned),
            created_s: now_s(),
            runs: self.runs,
            ranks: self.manifest.ranks,
            hollow: Some(hollow.clone()),
        };
        let evidence = cells.evidence()?;
        let mut made = accept(&ground.task.spec, &evidence, &about);
        let shared = cells.known.shares.iter();
        made.warnings.extend(shared.map(|(what, how)| Finding {
            kind: FindingKind::SharesState,
            subject: what.clone(),
            detail: how.clone(),
        }));
        Ok((evidence, made))
    }
}

/// A probe of several claims is told once.
fn untwinned(task: &Task) -> impl Iterator<Item = Finding> {
    let found = without_twin(task).into_iter();
    let by_probe: BTreeMap<&str, String> = found.map(|u| (u.probe, u.why)).collect();
    by_probe.into_iter().map(|(probe, why)| Finding {
        kind: FindingKind::WithoutTwin,
        subject: probe.to_owned(),
        detail: why,
    })
}

/// What gold's runs as a whole may still change.
fn provisional(answer: &Acceptance) -> Event {
    Event::Provisional {
        standing: answer.standing,
        broken: answer.broken().map(|r| r.rule).collect(),
        revise: answer.revise.len(),
    }
}

/// Gold has run as a calibration has it run: no grade under the same key needs it again, nor to see
/// what gold exchanges.
fn keep_gold(
    home: &Home,
    ground: &Ground,
    (gold, exchanged, keys): (
        &PatchEvidence,
        &BTreeMap<Suite, Vec<Deviation>>,
        &BTreeMap<Suite, String>,
    ),
    isolated: bool,
) -> Result<(), Stop> {
    for (suite, runs) in &gold.runs {
        let Some(key) = keys.get(suite) else { continue };
        let mut part = part(ground, *suite, key, runs);
        part.deviations = Some(exchanged.get(suite).cloned().unwrap_or_default());
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
fn slots(candidates: &[Candidate], suites: &Suites, runs: u32) -> (Vec<Slot>, Vec<Slot>) {
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
        for suite in suites.files.keys() {
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
