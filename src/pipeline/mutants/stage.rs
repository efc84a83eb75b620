//! From the order to the record: the official suite on all mutants, the probes on those that it
//! lets pass.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::candidates::candidates;
use crate::domain::{Event, Level, Manifest, Mutation, MutationCounts, Stage, Subject, Suite};
use crate::judge::acceptance::{MutationAbout, mutation, passes_official};
use crate::pipeline::error::Stop;
use crate::pipeline::grade::Timer;
use crate::pipeline::ground::{Ground, prepare};
use crate::pipeline::recorder::Recorder;
use crate::pipeline::verify::{Cells, Memory, Results, Slot, Suites, beside, build_all};
use crate::store::{Home, RunDir, keep_mutation, now_s};

/// Grades every mutant of a task's gold.
pub(in crate::pipeline) async fn mutants(
    home: &Home,
    run: &RunDir,
    manifest: &Manifest,
    recorder: &Recorder,
) -> Result<MutationCounts, Stop> {
    let timer = Timer::start(recorder, Stage::Prepare, Subject::Gold);
    let ground = Arc::new(prepare(home, run, manifest, recorder).await?);
    timer.stop();
    let timer = Timer::start(recorder, Stage::Mutants, Subject::Gold);
    let made = on_ground(home, &ground, recorder).await;
    let Some(ground) = Arc::into_inner(ground) else {
        return Err(Stop::Fault("something still reads the task".into()));
    };
    let made = ground.end(made, recorder).await?;
    timer.stop();
    keep_mutation(run, &made)?;
    for mark in &made.wrong_marks {
        let text = format!("{} is marked as equivalent: {}", mark.mutant, mark.detail);
        recorder.say(Level::Warn, text);
    }
    let counts = made.counts;
    recorder.record(Event::MutantsGraded { counts });
    Ok(counts)
}

async fn on_ground(
    home: &Home,
    ground: &Arc<Ground>,
    recorder: &Recorder,
) -> Result<Mutation, Stop> {
    let (trees, task, root) = (
        Arc::clone(&ground.trees),
        ground.task.clone(),
        home.root().to_path_buf(),
    );
    let (mutants, mut all) = tokio::task::spawn_blocking(move || candidates(&trees, &task, &root))
        .await
        .map_err(|e| Stop::Fault(format!("mutants: {e}")))??;
    let isolated = Arc::new(AtomicBool::new(true));
    build_all(ground, &isolated, &mut all, 1).await?;
    if let Err((cause, message)) = &all[0].tree {
        return Err(Stop::Input(format!("gold ({}): {message}", cause.name())));
    }
    let copied = Arc::clone(ground);
    let suites = tokio::task::spawn_blocking(move || Suites::copy(&copied, 1, &Memory::default()))
        .await
        .map_err(|e| Stop::Fault(format!("suites: {e}")))??;
    let mut cells = Cells {
        home,
        ground,
        candidates: &all,
        suites: &suites,
        recorder,
        isolated: &isolated,
        again: &[],
        warm: None,
        memory: &Memory::default(),
        whole_gold: true,
        assumed: BTreeMap::new(),
        known: Results::default(),
    };
    let slot = |candidate, suite| Slot {
        candidate,
        suite,
        run: 1,
    };
    let beside = beside(ground);
    let gold = suites.files.keys().map(|suite| slot(0, *suite));
    cells.fill_gold(gold.collect(), beside).await?;
    let there = |i: &usize| all[*i].tree.is_ok();
    let mutants_there: Vec<usize> = (1..all.len()).filter(there).collect();
    let words = format!(
        "{} mutants on the official suite, {beside} beside each other",
        mutants_there.len()
    );
    recorder.say(Level::Info, words);
    let official = mutants_there.iter().map(|i| slot(*i, Suite::Official));
    cells.fill(official.collect(), beside).await?;
    if suites.files.contains_key(&Suite::Probes) {
        let seen = cells.evidence()?;
        let let_pass: Vec<Slot> = (mutants_there.iter())
            .filter(|i| passes_official(&seen[0], &seen[**i]))
            .map(|i| slot(*i, Suite::Probes))
            .collect();
        let words = format!("it lets {} pass: those on the probes", let_pass.len());
        recorder.say(Level::Info, words);
        cells.fill(let_pass, beside).await?;
    }
    let seen = cells.evidence()?;
    let about = MutationAbout {
        run: ground.run.id().0,
        engine: ground.engine_kind(),
        environment: ground.environment.hash.clone(),
        created_s: now_s(),
    };
    Ok(mutation(&ground.task.spec, mutants, &seen, &about))
}
