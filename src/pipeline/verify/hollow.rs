//! The hollow patch as a tree. What runs at import is found by reading; where a run of the tests
//! tells that more of it does, those functions get gold's body back, and it is run again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use git2::Oid;

use super::candidates::{Candidate, build_all};
use super::cells::{Cells, Results, Slot};
use super::memory::Memory;
use super::reading::Suites;
use super::warm::Warm;
use crate::domain::acceptance::{ImportNeed, Role};
use crate::domain::case::Phase;
use crate::domain::manifest::Again;
use crate::domain::{Cause, Level, Suite, Task};
use crate::judge::acceptance::{HollowStory, WHOLE, printed_place};
use crate::pipeline::error::Stop;
use crate::pipeline::ground::Ground;
use crate::pipeline::recorder::Recorder;
use crate::pipeline::trees::Trees;
use crate::python::hollow::{Hollow, Rule, Works, hollow_but, raised_in};
use crate::store::{Home, recorded_acceptance};
use crate::workspace::Versions;

/// A module that is imported after another one shows what it needs a round later.
const ROUNDS: u32 = 16;
/// Folders of what is built, beside those of the patches and of the cells.
const BUILT: u32 = 1_000_000;

const NEEDED: &str = "tests cannot be collected without it";

/// How it was made, and the tree or why there is none.
type Made = (Hollow, Result<Oid, (Cause, String)>);

/// Made from base and gold each time, so that it never is an old one.
pub(in crate::pipeline) fn hollow_tree(
    trees: &Trees,
    task: &Task,
    works: &Works,
) -> Result<Made, Stop> {
    let fault = |e: &dyn std::fmt::Display| Stop::Fault(format!("hollow: {e}"));
    let versions = Versions::of(task, trees.sources()).map_err(|e| fault(&e))?;
    let base = versions.base().map_err(|e| fault(&e))?;
    let gold = versions.gold().map_err(|e| fault(&e))?;
    let made = hollow_but(&base, &gold, works);
    if made.raised.is_empty() {
        let why = "no function of gold can be made to raise".to_owned();
        return Ok((made, Err((Cause::Empty, why))));
    }
    let files: Vec<(String, Vec<u8>)> = made.files.clone().into_iter().collect();
    let tree = trees.snapshot.with_files(trees.gold, &files);
    let tree = tree.map_err(|e| fault(&e))?;
    Ok((made, Ok(tree)))
}

/// What the recorded acceptance of a task tells of its hollow patch.
pub fn recorded_works(task: &Task) -> Works {
    let needs = recorded_acceptance(task).map_or_else(Vec::new, |a| a.hollow_needs);
    let needs = needs.into_iter();
    needs.map(|n| ((n.path, n.function), n.why)).collect()
}

/// What hollow is run again with.
pub(super) struct Mending<'a> {
    pub home: &'a Home,
    pub ground: &'a Ground,
    pub suites: &'a Suites,
    pub recorder: &'a Recorder,
    pub isolated: &'a Arc<AtomicBool>,
    pub again: &'a [Again],
    pub warm: Option<&'a Warm>,
    pub memory: &'a Memory,
    /// Cells that run at a time.
    pub beside: usize,
    /// Gold runs whole suites.
    pub whole_gold: bool,
}

impl Mending<'_> {
    /// Runs hollow again for as long as its own raise keeps tests from being collected.
    pub async fn mended(
        &self,
        candidates: &mut [Candidate],
        known: Results,
    ) -> Result<(Results, HollowStory), Stop> {
        let cells = self.cells(candidates, known);
        let hollow = candidates.iter().position(|c| c.role == Role::Hollow);
        let Some((at, Ok(unmended))) = hollow.map(|at| (at, candidates[at].tree.clone())) else {
            return Ok((cells.known, HollowStory::default()));
        };
        let mut story = told(&cells, at, &Works::new())?;
        let mut known = cells.known;
        // what an earlier round of this run found needs no other run
        let mut works = self.memory.works(unmended);
        let mut round = 0;
        while round < ROUNDS {
            if (round > 0 || works.is_empty())
                && !self.find(&candidates[at], &places(&known, at, &story), &mut works)
            {
                break;
            }
            round += 1;
            self.make(&mut candidates[at], &works, round).await?;
            known.by_slot.retain(|slot, _| slot.candidate != at);
            let mut cells = self.cells(candidates, known);
            if cells.candidates[at].tree.is_ok() {
                let slots = self.suites.files.keys().map(|suite| slot(at, *suite));
                cells.fill(slots.collect(), self.beside).await?;
            }
            story = told(&cells, at, &works)?;
            known = cells.known;
        }
        self.memory.keep_works(unmended, &works);
        Ok((known, story))
    }

    pub fn cells<'c>(&'c self, candidates: &'c [Candidate], known: Results) -> Cells<'c> {
        Cells {
            home: self.home,
            ground: self.ground,
            candidates,
            suites: self.suites,
            recorder: self.recorder,
            isolated: self.isolated,
            again: self.again,
            warm: self.warm,
            memory: self.memory,
            assumed: BTreeMap::new(),
            whole_gold: self.whole_gold,
            known,
        }
    }

    /// Adds the functions that raised at these places; whether there are new ones.
    fn find(&self, hollow: &Candidate, places: &[(String, usize)], works: &mut Works) -> bool {
        let Some(made) = &hollow.hollow else {
            return false;
        };
        let before = works.len();
        for raised in raised_in(made, places) {
            let (path, function) = (raised.path.clone(), raised.function.clone());
            let words = format!("hollow: {function} ({path}) keeps its body: {NEEDED}");
            self.recorder.say(Level::Info, words);
            works.insert((path, function), NEEDED.to_owned());
        }
        works.len() > before
    }

    async fn make(&self, hollow: &mut Candidate, works: &Works, round: u32) -> Result<(), Stop> {
        let (trees, task) = (Arc::clone(&self.ground.trees), self.ground.task.clone());
        let works = works.clone();
        let made = tokio::task::spawn_blocking(move || hollow_tree(&trees, &task, &works));
        let (made, tree) = (made.await).map_err(|e| Stop::Fault(format!("hollow: {e}")))??;
        hollow.hollow = Some(Arc::new(made));
        hollow.tree = tree;
        let one = std::slice::from_mut(hollow);
        build_all(self.ground, self.isolated, one, BUILT + round).await
    }
}

fn slot(candidate: usize, suite: Suite) -> Slot {
    Slot {
        candidate,
        suite,
        run: 1,
    }
}

/// By what the suites reject hollow, for who asks whether something new was missing.
fn told(cells: &Cells<'_>, candidate: usize, works: &Works) -> Result<HollowStory, Stop> {
    let mut details = Vec::new();
    for suite in cells.suites.files.keys() {
        details.extend(cells.details(slot(candidate, *suite))?);
    }
    let made = cells.candidates[candidate].hollow.as_ref();
    let unparsed = made.map_or(&[][..], |m| &m.unparsed);
    let needs = works.iter().map(|((path, function), why)| ImportNeed {
        path: path.clone(),
        function: function.clone(),
        why: why.clone(),
    });
    Ok(HollowStory {
        changed: made.is_some_and(|m| m.rule == Rule::Changed),
        details,
        unread: unparsed
            .iter()
            .map(|u| (u.path.clone(), u.why.clone()))
            .collect(),
        needs: needs.collect(),
    })
}

/// Where errors of hollow's collection came by.
fn places(known: &Results, at: usize, story: &HollowStory) -> Vec<(String, usize)> {
    let mut broken: BTreeSet<&str> = BTreeSet::new();
    for suite in Suite::ALL {
        let results = known.by_slot.get(&slot(at, suite)).into_iter().flatten();
        for result in results.filter(|r| r.phase == Phase::Collect) {
            broken.extend([result.id.as_str(), result.id.file(), WHOLE]);
        }
    }
    let details = story
        .details
        .iter()
        .filter(|d| broken.contains(d.id.as_str()));
    let places = details.flat_map(|d| {
        let frames = d.frames.iter().map(|f| (f.path.clone(), f.line as usize));
        // an error that another one was made of is in the text alone, and one of a conftest.py in
        // what was printed
        let printed = (d.id == WHOLE).then_some(&d.sections).into_iter().flatten();
        let texts = printed.map(|(_, text)| text).chain([&d.traceback]);
        let told = texts.flat_map(|text| text.lines().filter_map(printed_place));
        frames.chain(told.map(|(path, line, _)| (path.to_owned(), line)))
    });
    let places: BTreeSet<(String, usize)> = places.collect();
    places.into_iter().collect()
}
