//! The cases of both suites, gold's outcome beside the submission's.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::domain::case::{CaseDetail, Frame};
use crate::domain::{CaseId, CaseResult, GradedCase, Outcome, RunId, Source, Subject, Suite};
use crate::domain::{SuiteState, signature};
use crate::tui::backend::Answer;
use crate::tui::msg::Excerpt;
use crate::tui::state::{App, OpenRun};

use super::filter::Only;
use super::heat::Heat;

/// What is known of a case on one subject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    Done(Outcome),
    Running,
    NotRun,
    /// Nothing on record.
    #[default]
    Unknown,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CaseRow {
    pub suite: Suite,
    pub id: CaseId,
    pub gold: Mark,
    pub this: Mark,
    /// On the newest rerun of cases, where this one was asked for.
    pub rerun: Mark,
    pub duration_s: Option<f64>,
    pub running_since_s: Option<f64>,
    pub claim: Option<String>,
    /// What its failure has in common with others; absent of a case that passed.
    pub signature: Option<String>,
    /// On the run of the same before this one.
    pub before: Option<Outcome>,
    /// Ranks on which it did not pass, of how many; where there are several.
    pub ranks: Option<(usize, usize)>,
}

/// How a case turned since the run before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Fixed,
    Broke,
    /// It does not pass in another way.
    Otherwise,
}

impl CaseRow {
    pub fn turn(&self) -> Option<Turn> {
        let (Some(before), Mark::Done(now)) = (self.before, self.this) else {
            return None;
        };
        match (before.passed(), now.passed()) {
            (true, false) => Some(Turn::Broke),
            (false, true) => Some(Turn::Fixed),
            _ => (before != now).then_some(Turn::Otherwise),
        }
    }

    /// It ended, and not well.
    pub fn not_passed(&self) -> bool {
        matches!(self.this, Mark::Done(outcome) if !outcome.passed())
    }

    /// Gold passes it, this does not: a failing case (METHOD.md section 7).
    pub fn rejected(&self) -> bool {
        self.gold == Mark::Done(Outcome::Passed) && self.not_passed()
    }
}

/// The long story of the selected case.
#[derive(Clone, Debug)]
pub struct Why {
    pub suite: Suite,
    pub id: CaseId,
    pub loading: bool,
    /// It was asked for after the case had ended: nothing more will come.
    pub done: bool,
    pub error: Option<String>,
    pub detail: Option<CaseDetail>,
    pub frames: Vec<Frame>,
    /// How many of them, the first, are of the work tree.
    pub project: usize,
    pub frame: usize,
    pub excerpt: Option<Excerpt>,
    pub scroll: usize,
    pub skip: usize,
    /// Rows of the whole story at most: where scrolling ends.
    pub height: usize,
}

impl Why {
    pub fn new(suite: Suite, id: CaseId) -> Self {
        Self {
            suite,
            id,
            loading: false,
            done: false,
            error: None,
            detail: None,
            frames: Vec::new(),
            project: 0,
            frame: 0,
            excerpt: None,
            scroll: 0,
            skip: 0,
            height: 0,
        }
    }

    /// `changed`: whether a file differs from what it is compared with.
    pub fn take(&mut self, answer: Answer<Option<CaseDetail>>, changed: impl Fn(&str) -> bool) {
        self.loading = false;
        match answer {
            Ok(detail) => {
                let detail = detail.unwrap_or_default();
                self.height = detail.traceback.lines().count()
                    + detail
                        .sections
                        .iter()
                        .map(|(_, text)| text.lines().count() + 1)
                        .sum::<usize>()
                    + detail.frames.len()
                    + 16;
                // the work tree's first, those of libraries after them
                let frames = detail.frames.iter().cloned();
                let (mut frames, library): (Vec<_>, Vec<_>) =
                    frames.partition(|frame| !frame.path.starts_with('/'));
                // where it went wrong: the innermost frame, in the change itself if it gets there
                let inside = frames.iter().rposition(|frame| changed(&frame.path));
                self.frame = inside.unwrap_or(frames.len().saturating_sub(1));
                self.project = frames.len();
                frames.extend(library);
                self.frames = frames;
                self.detail = Some(detail);
            }
            Err(error) => self.error = Some(error.0),
        }
    }

    pub fn step_frame(&mut self, forward: bool) -> bool {
        let last = self.frames.len().saturating_sub(1);
        let to = if forward {
            (self.frame + 1).min(last)
        } else {
            self.frame.saturating_sub(1)
        };
        std::mem::replace(&mut self.frame, to) != to
    }
}

#[derive(Clone, Debug, Default)]
pub struct CasesState {
    pub all: Vec<CaseRow>,
    /// Indices of `all` that pass the filters.
    pub shown: Vec<usize>,
    /// Index of `shown`.
    pub selected: usize,
    pub offset: usize,
    pub only_rejected: bool,
    pub suite: Option<Suite>,
    pub filter: String,
    /// Only those of one claim, or that fail alike.
    pub only: Option<Only>,
    /// Only those that ended otherwise than in the run before.
    pub only_changed: bool,
    pub slowest_first: bool,
    /// The run of the same before this one, and when it was made.
    pub before: Option<(RunId, f64)>,
    /// Cases of finished runs: the run before, and those of the map.
    pub known: HashMap<RunId, Arc<Vec<GradedCase>>>,
    /// Runs whose cases could not be read.
    pub unread: HashSet<RunId>,
    pub heat: Heat,
    /// To be selected once it is there.
    pub wanted: Option<(Suite, CaseId)>,
    pub why: Option<Why>,
    /// The traceback has the whole pane.
    pub why_open: bool,
    /// The reader moved: nothing moves by itself any more.
    pub moved: bool,
}

impl CasesState {
    pub fn selected_row(&self) -> Option<&CaseRow> {
        self.shown
            .get(self.selected)
            .and_then(|at| self.all.get(*at))
    }

    pub fn clear(&mut self) {
        self.all.clear();
        self.shown.clear();
        self.selected = 0;
        self.offset = 0;
        self.why = None;
        self.moved = false;
        self.before = None;
    }

    /// Index in `shown` of what happens now: the first running case, else the last that ended.
    pub fn active(&self) -> Option<usize> {
        let row = |at: &usize| self.shown.get(*at).and_then(|i| self.all.get(*i));
        let running = |at: &usize| row(at).is_some_and(|r| r.this == Mark::Running);
        let ended = |at: &usize| row(at).is_some_and(|r| matches!(r.this, Mark::Done(_)));
        (0..self.shown.len())
            .find(running)
            .or_else(|| (0..self.shown.len()).rev().find(ended))
    }

    /// Selects the first case that gold passes and this does not.
    pub fn select_rejected(&mut self) {
        let rejected = |at: &usize| self.all.get(*at).is_some_and(CaseRow::rejected);
        if let Some(at) = self.shown.iter().position(rejected) {
            self.selected = at;
        }
    }

    /// Selects what somebody went to, once it is there.
    pub fn select_wanted(&mut self) {
        let Some((suite, id)) = &self.wanted else {
            return;
        };
        let is = |row: &CaseRow| row.suite == *suite && row.id == *id;
        let at = |at: &usize| self.all.get(*at).is_some_and(is);
        if let Some(at) = self.shown.iter().position(at) {
            self.selected = at;
            self.moved = true;
            self.wanted = None;
        }
    }

    pub fn rejected(&self) -> usize {
        self.all.iter().filter(|row| row.rejected()).count()
    }

    /// Moves to the next or previous case that fails: a [`CaseRow::rejected`] one, or, where gold's
    /// own outcomes are what is shown, one that did not pass.
    pub fn step_failing(&mut self, forward: bool, shown: Subject) -> bool {
        let fails = |at: &usize| {
            let row = self.shown.get(*at).and_then(|i| self.all.get(*i));
            row.is_some_and(|row| match shown {
                Subject::Gold => row.not_passed(),
                Subject::Submission => row.rejected(),
            })
        };
        let found = if forward {
            (self.selected + 1..self.shown.len()).find(fails)
        } else {
            (0..self.selected.min(self.shown.len())).rev().find(fails)
        };
        if let Some(at) = found {
            self.selected = at;
        }
        found.is_some()
    }
}

/// The subject whose outcomes stand in the right column: a run of gold may report only gold.
pub fn shown_subject(run: &OpenRun, source: Option<&Source>) -> Subject {
    let graded = Suite::ALL
        .iter()
        .any(|suite| run.state.suite(Subject::Submission, *suite).is_some());
    if !graded && source == Some(&Source::Gold) {
        Subject::Gold
    } else {
        Subject::Submission
    }
}

/// The result of a case that the right column shows.
pub fn shown_result<'a>(app: &'a App, suite: Suite, id: &CaseId) -> Option<&'a CaseResult> {
    let run = app.open.as_ref()?;
    run.result(shown_subject(run, app.target.source.as_ref()), suite, id)
}

/// Makes the rows anew from the open run, in the order of collection: gold's first, then what
/// only the submission has.
pub fn rebuild(app: &mut App) {
    let Some(run) = &app.open else {
        app.cases.clear();
        return;
    };
    let subject = shown_subject(run, app.target.source.as_ref());
    let task = app.target.task.as_deref().and_then(|id| app.task(id));
    let mut rows = Vec::new();
    let before = app.cases.before.as_ref();
    let before = before.and_then(|(run, _)| app.cases.known.get(run));
    let before: HashMap<(Suite, &CaseId), Outcome> = (before.iter())
        .flat_map(|cases| cases.iter().map(|c| ((c.suite, &c.id), c.outcome)))
        .collect();
    let graded = run.state.grade.iter().flat_map(|grade| &grade.cases);
    let graded: HashMap<(Suite, &CaseId), &GradedCase> =
        graded.map(|c| ((c.suite, &c.id), c)).collect();
    for suite in Suite::ALL {
        let gold = run.state.suite(Subject::Gold, suite);
        let this = run.state.suite(subject, suite);
        let gold_order = gold.map_or(&[][..], |s| &s.order);
        let this_order = this.map_or(&[][..], |s| &s.order);
        let recorded = run.gold_order.iter().filter(|(s, _)| *s == suite);
        let in_gold: HashSet<&CaseId> = gold_order.iter().collect();
        let in_this: HashSet<&CaseId> = this_order.iter().collect();
        let again = app
            .rerun
            .as_ref()
            .and_then(|rerun| rerun.state.suite(Subject::Submission, suite));
        let in_rerun: HashSet<&CaseId> = again.map_or(&[][..], |s| &s.order).iter().collect();
        let mut seen = HashSet::new();
        let order = gold_order
            .iter()
            .chain(recorded.map(|(_, id)| id))
            .chain(this_order);
        for id in order {
            if !seen.insert(id) {
                continue;
            }
            let result = run.result(subject, suite, id);
            let gold_result = run.result(Subject::Gold, suite, id);
            let graded = || graded.get(&(suite, id)).copied();
            let gold_mark = match gold_result {
                Some(result) => Mark::Done(result.outcome),
                None => match mark(gold, &in_gold, id) {
                    Mark::Unknown => graded().map_or(Mark::Unknown, |c| Mark::Done(c.gold)),
                    known => known,
                },
            };
            let this_mark = match result {
                Some(result) => Mark::Done(result.outcome),
                None => match (mark(this, &in_this, id), run.state.finished()) {
                    // what never came is in the grade as missing
                    (_, true) => graded().map_or(Mark::NotRun, |c| Mark::Done(c.outcome)),
                    (Mark::Unknown, false) => Mark::NotRun,
                    (known, false) => known,
                },
            };
            let rerun = app.rerun.as_ref().map_or(Mark::Unknown, |rerun| {
                match rerun.result(Subject::Submission, suite, id) {
                    Some(result) => Mark::Done(result.outcome),
                    None => mark(again, &in_rerun, id),
                }
            });
            let graded = graded();
            let said = result
                .map(|r| r.message.as_deref())
                .or_else(|| graded.map(|g| g.message.as_deref()));
            let fails = match this_mark {
                Mark::Done(outcome) if !outcome.passed() => Some(outcome),
                _ => None,
            };
            rows.push(CaseRow {
                suite,
                id: id.clone(),
                signature: fails.map(|outcome| signature(outcome, said.flatten())),
                before: before.get(&(suite, id)).copied(),
                ranks: result.filter(|r| r.ranks.len() > 1).map(|r| {
                    let failed = r.ranks.iter().filter(|rank| !rank.outcome.passed());
                    (failed.count(), r.ranks.len())
                }),
                gold: gold_mark,
                this: this_mark,
                rerun,
                duration_s: result.or(gold_result).map(|r| r.duration_s),
                running_since_s: this.and_then(|s| s.running.get(id)).copied(),
                claim: task
                    .and_then(|task| task.claim_of(id.function()))
                    .map(|claim| claim.id.clone()),
            });
        }
    }
    app.cases.all = rows;
    app.cases.refilter();
    app.cases.select_wanted();
}

fn mark(suite: Option<&SuiteState>, known: &HashSet<&CaseId>, id: &CaseId) -> Mark {
    match suite {
        Some(suite) if suite.running.contains_key(id) => Mark::Running,
        Some(_) if known.contains(id) => Mark::NotRun,
        _ => Mark::Unknown,
    }
}
