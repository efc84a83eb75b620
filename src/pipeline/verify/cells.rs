//! The cells of the matrix: those that are known are kept, the others run beside each other within
//! the machine's limits.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::{StreamExt, stream};

use super::candidates::Candidate;
use super::keys::{SuiteFiles, cell_key};
use crate::domain::acceptance::Role;
use crate::domain::case::CaseDetail;
use crate::domain::cell::{CELL_VERSION, Cell};
use crate::domain::{CalibratedCase, CaseResult, CaseRun, Event, Subject, Suite, SuiteCalibration};
use crate::pipeline::error::Stop;
use crate::pipeline::ground::Ground;
use crate::pipeline::place::Place;
use crate::pipeline::recorder::Recorder;
use crate::pipeline::run_suites::{Subjected, lay, life, suite_run};
use crate::pipeline::suite::{SuiteError, run_suite};
use crate::store::{Home, keep_cell, kept_cell};

/// Tests of verify set it, so that a probe can tell gold's runs apart (`VERIFY_RUN_INDEX`).
const RUN_INDEX: &str = "INFRADEV_TEST_RUN_INDEX";

/// A patch on a suite, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot {
    /// Index among the candidates.
    pub candidate: usize,
    pub suite: Suite,
    /// From 1.
    pub run: u32,
}

/// What is run and what is known.
pub(super) struct Cells<'a> {
    pub home: &'a Home,
    pub ground: &'a Ground,
    pub candidates: &'a [Candidate],
    pub files: &'a BTreeMap<Suite, SuiteFiles>,
    pub recorder: &'a Recorder,
    pub isolated: &'a Arc<AtomicBool>,
    pub results: BTreeMap<Slot, Vec<CaseResult>>,
}

/// Test files of a slot that are not known yet, with their keys.
type Missing = Vec<(Option<String>, String)>;

impl Cells<'_> {
    /// Makes all of these slots known, `beside` at a time.
    pub async fn fill(&mut self, slots: Vec<Slot>, beside: usize) -> Result<(), Stop> {
        let mut jobs = Vec::new();
        for slot in slots {
            let (mut known, missing) = self.look_up(slot)?;
            if missing.is_empty() {
                sort(&mut known, self.gold(slot.suite));
                self.tell(slot, true, &known, 0.0);
                self.results.insert(slot, known);
            } else {
                jobs.push((slot, known, missing));
            }
        }
        let this = &*self;
        let mut running = stream::iter(jobs)
            .map(|(slot, known, missing)| async move {
                let ran = this.run(slot, &missing).await?;
                Ok::<_, Stop>((slot, known, ran))
            })
            .buffer_unordered(beside.max(1));
        let mut done = Vec::new();
        while let Some(ended) = running.next().await {
            let (slot, mut known, cells) = ended?;
            let took = cells.first().map_or(0.0, |c| c.duration_s);
            for cell in cells {
                keep_cell(this.home, &cell)?;
                known.extend(cell.results);
            }
            sort(&mut known, this.gold(slot.suite));
            this.tell(slot, false, &known, took);
            done.push((slot, known));
        }
        drop(running);
        self.results.extend(done);
        Ok(())
    }

    fn tell(&self, slot: Slot, kept: bool, results: &[CaseResult], duration_s: f64) {
        self.recorder.record(Event::CellFinished {
            patch: self.candidates[slot.candidate].label(),
            suite: slot.suite,
            run: slot.run,
            kept,
            passed: results.iter().filter(|r| r.outcome.passed()).count(),
            collected: results.len(),
            duration_s,
        });
    }

    /// Gold's first run of a suite, once it is known.
    fn gold(&self, suite: Suite) -> Option<&[CaseResult]> {
        let slot = Slot {
            candidate: 0,
            suite,
            run: 1,
        };
        self.results.get(&slot).map(Vec::as_slice)
    }

    /// What a test of verify tells gold's runs apart by.
    fn index(&self, slot: Slot) -> Option<u32> {
        let gold = self.candidates[slot.candidate].role == Role::Gold;
        (gold && std::env::var_os(RUN_INDEX).is_some()).then_some(slot.run)
    }

    fn look_up(&self, slot: Slot) -> Result<(Vec<CaseResult>, Missing), Stop> {
        let (mut known, mut missing) = (Vec::new(), Missing::new());
        let Ok(tree) = self.candidates[slot.candidate].tree else {
            return Ok((known, missing));
        };
        let files = &self.files[&slot.suite];
        let spec = self.ground.task.spec.suites.get(slot.suite);
        // paths of its own choose among the files: then the suite is taken as a whole
        let whole = files.tests.is_empty() || spec.is_some_and(|s| !s.paths.is_empty());
        let parts: Vec<Option<&str>> = if whole {
            vec![None]
        } else {
            files.tests.keys().map(|f| Some(f.as_str())).collect()
        };
        let index = self.index(slot);
        for part in parts {
            let tree = tree.to_string();
            let key = cell_key(self.ground, slot.suite, &tree, slot.run, files, part, index)?;
            match kept_cell(self.home, &key) {
                Some(cell) => {
                    if !cell.isolated {
                        self.isolated.store(false, Ordering::Relaxed);
                    }
                    known.extend(cell.results);
                }
                None => missing.push((part.map(str::to_owned), key)),
            }
        }
        Ok((known, missing))
    }

    /// Runs the files of a slot that are missing, in a sandbox and a tree of their own.
    async fn run(&self, slot: Slot, missing: &Missing) -> Result<Vec<Cell>, Stop> {
        let candidate = &self.candidates[slot.candidate];
        let Ok(tree) = candidate.tree else {
            return Ok(Vec::new());
        };
        let ground = self.ground;
        let subject = match candidate.role {
            Role::Gold => Subject::Gold,
            _ => Subject::Submission,
        };
        let number = slot.candidate as u32 * 1000 + slot.run;
        let subjected = Subjected {
            subject,
            tree,
            slot: number,
        };
        let worktree = lay(ground, &subjected, slot.suite, None, None).await?;
        let record = ground.scratch.join(format!("cell-{number}-{}", slot.suite));
        let gold = self.gold(slot.suite).map(calibration);
        let mut run = suite_run(
            ground,
            subject,
            slot.suite,
            gold.as_ref(),
            &[],
            Some(&record),
        );
        let files: Vec<&str> = missing.iter().filter_map(|(f, _)| f.as_deref()).collect();
        if !files.is_empty() && files.len() < self.files[&slot.suite].tests.len() {
            run.paths = files.iter().map(|f| (*f).to_owned()).collect();
            if let Some(expected) = &mut run.expected {
                expected.retain(|id| files.contains(&id.file()));
            }
        }
        if let Some(index) = self.index(slot) {
            run.env.insert("VERIFY_RUN_INDEX".into(), index.to_string());
        }
        let limit = ground
            .task
            .spec
            .suites
            .get(slot.suite)
            .map_or(0.0, |s| s.limit_s);
        let isolated = Arc::new(AtomicBool::new(true));
        let mut place = Place::new(ground, &worktree, run.ranks, life(limit), &isolated);
        let outcome = match run_suite(&mut place, &run, |_| {}).await {
            Ok(outcome) => outcome,
            Err(SuiteError::Environment(message)) => {
                let label = candidate.label();
                return Err(Stop::Input(format!(
                    "the environment cannot run the {} suite on {label}: {message}",
                    slot.suite
                )));
            }
            Err(e) => return Err(Stop::Fault(e.to_string())),
        };
        if subject == Subject::Gold && outcome.results.is_empty() {
            return Err(Stop::Input(format!(
                "gold collects no case of the {0} suite; correct [suites.{0}] in task.toml",
                slot.suite
            )));
        }
        ground.gpus_answer().await?;
        let isolated = isolated.load(Ordering::Relaxed);
        if !isolated {
            self.isolated.store(false, Ordering::Relaxed);
        }
        let details = details(&record, subject, slot.suite);
        for path in [&worktree, &record] {
            // many trees would fill the disk; what stays goes with the run's scratch
            let _ = std::fs::remove_dir_all(path);
        }
        let first = missing.first().map(|(file, _)| file.clone());
        let of = |id: &str, file: &Option<String>| {
            let own = id.split("::").next().unwrap_or(id);
            let known = |f: &Option<String>| f.as_deref() == Some(own);
            // what no file claims (an error of the whole collection) is told once
            known(file) || first.as_ref() == Some(file) && !missing.iter().any(|(f, _)| known(f))
        };
        Ok(missing
            .iter()
            .map(|(file, key)| Cell {
                schema: CELL_VERSION,
                key: key.clone(),
                patch: candidate.label(),
                suite: slot.suite,
                run: slot.run,
                file: file.clone(),
                results: (outcome.results.iter())
                    .filter(|r| of(r.id.as_str(), file))
                    .cloned()
                    .collect(),
                details: details
                    .iter()
                    .filter(|d| of(&d.id, file))
                    .cloned()
                    .collect(),
                duration_s: outcome.duration_s,
                isolated,
            })
            .collect())
    }
}

/// As far as a suite's run asks gold for it: its cases, and how long they took.
fn calibration(results: &[CaseResult]) -> SuiteCalibration {
    let cases = results.iter().filter_map(|r| {
        let run = CaseRun {
            outcome: r.outcome,
            duration_s: r.duration_s,
        };
        CalibratedCase::of(r.id.clone(), vec![run])
    });
    SuiteCalibration {
        runs: 1,
        cases: cases.collect(),
        ..SuiteCalibration::default()
    }
}

/// In gold's order, whatever was known and whatever was run.
fn sort(results: &mut [CaseResult], gold: Option<&[CaseResult]>) {
    let Some(gold) = gold else { return };
    let place: BTreeMap<_, _> = gold.iter().zip(0..).map(|(r, at)| (&r.id, at)).collect();
    results.sort_by_key(|r| place.get(&r.id).copied().unwrap_or(usize::MAX));
}

/// The stories that a suite's run left.
fn details(record: &Path, subject: Subject, suite: Suite) -> Vec<CaseDetail> {
    let file = record.join(format!("cases/{}-{suite}.jsonl", subject.name()));
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}
