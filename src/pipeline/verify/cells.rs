//! The cells of the matrix: those that are known are kept, the others run beside each other within
//! the machine's limits.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::{StreamExt, stream};

use super::candidates::Candidate;
use super::files::{Part, Together};
use super::keys::cell_key;
use super::memory::Memory;
use super::reading::Suites;
use super::warm::Warm;
use super::whole::divided;
use crate::domain::acceptance::Role;
use crate::domain::case::CaseDetail;
use crate::domain::cell::{CELL_VERSION, Cell};
use crate::domain::manifest::Again;
use crate::domain::{CaseResult, Deviation, Event, Subject, Suite};
use crate::pipeline::error::Stop;
use crate::pipeline::evidence::rewritten_tests;
use crate::pipeline::ground::Ground;
use crate::pipeline::place::Place;
use crate::pipeline::recorder::Recorder;
use crate::pipeline::run_suites::{Subjected, lay, life};
use crate::pipeline::suite::{SuiteError, run_suite};
use crate::store::Home;

/// Tests of verify set it, so that a probe can tell gold's runs apart (`VERIFY_RUN_INDEX`).
const RUN_INDEX: &str = "INFRADEV_TEST_RUN_INDEX";

/// A patch on a suite, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::pipeline) struct Slot {
    /// Index among the candidates.
    pub candidate: usize,
    pub suite: Suite,
    /// From 1.
    pub run: u32,
}

/// What is run and what is known.
pub(in crate::pipeline) struct Cells<'a> {
    pub home: &'a Home,
    pub ground: &'a Ground,
    pub candidates: &'a [Candidate],
    pub suites: &'a Suites,
    pub recorder: &'a Recorder,
    pub isolated: &'a Arc<AtomicBool>,
    /// Cells that run again though they are known.
    pub again: &'a [Again],
    /// Sandboxes that wait for their order.
    pub warm: Option<&'a Warm>,
    pub memory: &'a Memory,
    /// Gold runs whole suites, never a part of one.
    pub whole_gold: bool,
    /// What gold's first runs came to when it was last asked; empty: nobody knows.
    pub assumed: BTreeMap<Suite, Vec<CaseResult>>,
    pub known: Results,
}

/// What came of cells.
#[derive(Debug, Default)]
pub(in crate::pipeline) struct Results {
    pub by_slot: BTreeMap<Slot, Vec<CaseResult>>,
    /// What gold exchanged in the process that reports, in any of its runs.
    pub of_gold: BTreeMap<Suite, Vec<Deviation>>,
    /// What turned out not to stand for itself.
    pub together: BTreeMap<Suite, Together>,
    /// Of these: what shares state, by file (or suite), and by what that was seen.
    pub shares: BTreeMap<String, String>,
    /// Slots of which something ran, and those that were known.
    pub ran: usize,
    pub kept: usize,
}

/// Parts of a slot that are not known yet, with their keys.
pub(super) type Missing = Vec<(Part, String)>;

/// What is known of a slot: its results, and the keys of its cells.
#[derive(Default)]
pub(super) struct Known {
    pub results: Vec<CaseResult>,
    keys: Vec<String>,
    deviations: Vec<Deviation>,
}

impl Known {
    fn take(&mut self, cell: &Cell) {
        self.results.extend(cell.results.iter().cloned());
        self.keys.push(cell.key.clone());
        self.deviations.extend(cell.deviations.iter().cloned());
    }
}

impl Cells<'_> {
    /// Makes all of these slots known, `beside` at a time.
    pub async fn fill(&mut self, slots: Vec<Slot>, beside: usize) -> Result<(), Stop> {
        let (mut jobs, mut done) = (Vec::new(), Vec::new());
        for slot in slots {
            let (known, missing) = self.look_up(slot)?;
            if missing.is_empty() {
                let gold = self.gold(slot.suite);
                done.push((slot, self.settle(slot, true, known, 0.0, gold)));
            } else {
                jobs.push((slot, known, missing));
            }
        }
        let kept = done.len();
        let this = &*self;
        let mut running = stream::iter(jobs)
            .map(|(slot, known, missing)| async move {
                let ran = this.run(slot, &missing, this.gold(slot.suite)).await?;
                Ok::<_, Stop>((slot, known, ran))
            })
            .buffer_unordered(beside.max(1));
        while let Some(ended) = running.next().await {
            let (slot, known, cells) = ended?;
            done.push((slot, this.took(slot, known, cells, this.gold(slot.suite))?));
        }
        drop(running);
        let ran = done.len() - kept;
        self.know(done, ran);
        Ok(())
    }

    /// Keeps the cells that ran, and tells of the slot. `gold`: its first run, where it is known.
    pub(super) fn took(
        &self,
        slot: Slot,
        mut known: Known,
        cells: Vec<Cell>,
        gold: Option<&[CaseResult]>,
    ) -> Result<Known, Stop> {
        let took = cells.first().map_or(0.0, |c| c.duration_s);
        for cell in cells {
            let cell = self.memory.keep(self.home, cell)?;
            known.take(&cell);
        }
        Ok(self.settle(slot, false, known, took, gold))
    }

    /// `ran`: so many of them were not known before.
    pub(super) fn know(&mut self, done: Vec<(Slot, Known)>, ran: usize) {
        self.known.kept += done.len() - ran;
        self.known.ran += ran;
        for (slot, known) in done {
            if self.candidates[slot.candidate].role == Role::Gold {
                let all = self.known.of_gold.entry(slot.suite).or_default();
                for deviation in known.deviations {
                    if !all.iter().any(|known| known.same(&deviation)) {
                        all.push(deviation);
                    }
                }
            }
            self.known.by_slot.insert(slot, known.results);
        }
    }

    /// In gold's order, and told.
    pub(super) fn settle(
        &self,
        slot: Slot,
        kept: bool,
        mut known: Known,
        duration_s: f64,
        gold: Option<&[CaseResult]>,
    ) -> Known {
        sort(&mut known.results, gold);
        let results = &known.results;
        self.recorder.record(Event::CellFinished {
            patch: self.candidates[slot.candidate].label(),
            suite: slot.suite,
            run: slot.run,
            kept,
            passed: results.iter().filter(|r| r.outcome.passed()).count(),
            collected: results.len(),
            duration_s,
            cells: known.keys.clone(),
        });
        known
    }

    /// Gold's first run of a suite, once it is known.
    pub(super) fn gold(&self, suite: Suite) -> Option<&[CaseResult]> {
        let slot = Slot {
            candidate: 0,
            suite,
            run: 1,
        };
        self.known.by_slot.get(&slot).map(Vec::as_slice)
    }

    /// What a test of verify tells gold's runs apart by.
    pub(super) fn index(&self, slot: Slot) -> Option<u32> {
        let gold = self.candidates[slot.candidate].role == Role::Gold;
        (gold && std::env::var_os(RUN_INDEX).is_some()).then_some(slot.run)
    }

    pub(super) fn look_up(&self, slot: Slot) -> Result<(Known, Missing), Stop> {
        let (cells, missing) = self.kept(slot, self.again)?;
        let mut known = Known::default();
        for cell in cells {
            if !cell.isolated {
                self.isolated.store(false, Ordering::Relaxed);
            }
            known.take(&cell);
        }
        Ok((known, missing))
    }

    /// The stories of a slot's cases that did not plainly pass, as far as they are kept.
    pub fn details(&self, slot: Slot) -> Result<Vec<CaseDetail>, Stop> {
        let (cells, _) = self.kept(slot, &[])?;
        let details = cells.iter().flat_map(|cell| cell.details.iter().cloned());
        Ok(details.collect())
    }

    /// What cells a slot is made of.
    pub(super) fn parts(&self, slot: Slot) -> Vec<Part> {
        if self.whole_gold && self.candidates[slot.candidate].role == Role::Gold {
            return vec![Part::default()];
        }
        self.apart(slot.suite)
    }

    /// Of a suite, as far as it may be taken apart.
    pub(super) fn apart(&self, suite: Suite) -> Vec<Part> {
        let none = Together::default();
        let together = self.known.together.get(&suite).unwrap_or(&none);
        self.suites.files[&suite].parts(together)
    }

    /// Cells of a slot, and what there is none of; `again`: what counts as missing though it is there.
    fn kept(&self, slot: Slot, again: &[Again]) -> Result<(Vec<Arc<Cell>>, Missing), Stop> {
        self.kept_of(slot, self.parts(slot), again)
    }

    pub(super) fn kept_of(
        &self,
        slot: Slot,
        parts: Vec<Part>,
        again: &[Again],
    ) -> Result<(Vec<Arc<Cell>>, Missing), Stop> {
        let (mut known, mut missing) = (Vec::new(), Missing::new());
        let Ok(tree) = self.candidates[slot.candidate].tree else {
            return Ok((known, missing));
        };
        let index = self.index(slot);
        let (tree, patch) = (tree.to_string(), self.candidates[slot.candidate].label());
        for part in parts {
            let key = cell_key(
                self.ground,
                slot.suite,
                &tree,
                slot.run,
                self.suites,
                &part,
                index,
            )?;
            let file = part.file.as_deref();
            let again = again.iter().any(|a| a.names(&patch, slot.suite, file));
            match self.memory.cell(self.home, &key).filter(|_| !again) {
                Some(cell) => known.push(cell),
                None => missing.push((part, key)),
            }
        }
        Ok((known, missing))
    }

    /// Runs the parts of a slot that are missing, in a sandbox and a tree of their own. `gold`: its
    /// first run, by which what is expected goes.
    pub(super) async fn run(
        &self,
        slot: Slot,
        missing: &Missing,
        gold: Option<&[CaseResult]>,
    ) -> Result<Vec<Cell>, Stop> {
        let candidate = &self.candidates[slot.candidate];
        let Ok(tree) = candidate.tree else {
            return Ok(Vec::new());
        };
        let ground = self.ground;
        let subject = candidate.subject();
        // what an earlier one left in folders of its own may still be on its way out
        let number = self.memory.number();
        let record = ground.scratch.join(format!("cell-{number}-{}", slot.suite));
        let run = self.suite_run(slot, missing, &record, gold);
        let spec = ground.task.spec.suites.get(slot.suite);
        let limit = spec.map_or(0.0, |s| s.limit_s);
        let tests = &self.suites.dirs[&slot.suite];
        let isolated = Arc::new(AtomicBool::new(true));
        let waiting = match self.warm.filter(|_| self.index(slot).is_none()) {
            Some(warm) => warm.take(tree, slot.suite, self.suites).await,
            None => None,
        };
        let mut ran = None;
        if let Some((worktree, waiting)) = waiting {
            let mut place = Place::new(ground, &worktree, run.ranks, life(limit), &isolated);
            place.waiting = Some(waiting);
            place.aside = self.warm.map(Warm::aside);
            let outcome = run_suite(&mut place, &run, |_| {}).await;
            // one that waited and is no use says nothing of the patch: then in a new one
            ran = outcome.ok().map(|outcome| (worktree, Ok(outcome)));
        }
        let (worktree, outcome) = if let Some(ran) = ran {
            ran
        } else {
            let subjected = Subjected {
                subject,
                tree,
                slot: number,
            };
            let tests = self.suites.tests(slot.suite);
            let worktree = lay(ground, &subjected, slot.suite, tests, None).await?;
            let mut place = Place::new(ground, &worktree, run.ranks, life(limit), &isolated);
            let outcome = run_suite(&mut place, &run, |_| {}).await;
            (worktree, outcome)
        };
        let outcome = match outcome {
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
        if subject == Subject::Gold
            && outcome.results.is_empty()
            && missing.len() == self.parts(slot).len()
        {
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
        let mut deviations = outcome.deviations;
        if subject == Subject::Gold {
            let laid = tests.clone();
            deviations.extend(rewritten_tests(ground, slot.suite, &worktree, laid).await?);
        }
        let details = details(&record, subject, slot.suite);
        self.remove([worktree, record]);
        let whole = Cell {
            schema: CELL_VERSION,
            key: String::new(),
            patch: candidate.label(),
            suite: slot.suite,
            run: slot.run,
            file: None,
            function: None,
            results: outcome.results,
            details,
            deviations,
            duration_s: outcome.duration_s,
            isolated,
        };
        let cells = divided(&whole, missing);
        self.keep_whole(slot, missing, whole)?;
        Ok(cells)
    }

    /// Many trees would fill the disk; what stays goes with the run's scratch.
    fn remove(&self, paths: [PathBuf; 2]) {
        if let Some(warm) = self.warm {
            return warm.remove_later(paths);
        }
        for path in paths {
            let _ = std::fs::remove_dir_all(path);
        }
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
