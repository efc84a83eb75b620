//! Patches down, probe functions across: METHOD's unit is the function, all its parameter sets
//! together.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::changed::Changed;
use super::judged::{columns, judge, mark, patches};
use super::rows::{RowVerdict, Sign, verdict};
use super::told::SlotId;
use crate::domain::acceptance::{Acceptance, How, Passed, PatchRow, Role};
use crate::domain::{CaseResult, Outcome, Phase, RunId, Suite, Task, TaskSpec};
use crate::pipeline::Freshness;

/// What is known of a slot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tried {
    /// File by file, each with the key of its cell.
    pub cells: Vec<(String, Arc<Vec<CaseResult>>)>,
    /// When the files that it rests on were read.
    pub read_s: f64,
    /// Of the round that is shown; else of one before it, which may be out of date.
    pub current: bool,
}

impl Tried {
    pub(super) fn results(&self) -> impl Iterator<Item = (&str, &CaseResult)> {
        let all = self.cells.iter();
        all.flat_map(|(key, results)| results.iter().map(move |r| (key.as_str(), r)))
    }
}

/// A verify run at work.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    pub run: RunId,
    /// Patches on suites that are known, of all there are.
    pub done: usize,
    pub total: usize,
    /// It has verified before and does so again.
    pub again: bool,
    pub since_s: f64,
    /// The round is over: the run waits for edits.
    pub rests: bool,
}

/// A probe function.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub function: String,
    /// It must pass on base, and counts nowhere else.
    pub guard: bool,
    pub claims: Vec<String>,
}

impl Column {
    /// As a head says it: without file and `test_`.
    pub fn name(&self) -> String {
        let name = self.function.split_once("::");
        let name = name.map_or(self.function.as_str(), |(_, name)| name);
        match name.rsplit_once("::") {
            Some((class, name)) => format!("{class}.{}", name.trim_start_matches("test_")),
            None => name.trim_start_matches("test_").to_owned(),
        }
    }

    pub fn file(&self) -> &str {
        self.function.split("::").next().unwrap_or(&self.function)
    }
}

/// What a probe function makes of a patch in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GridMark {
    Passed,
    Rejects(How),
}

impl GridMark {
    pub fn asserts(self) -> bool {
        self == Self::Rejects(How::Assertion)
    }
}

/// A probe function on a patch, or the official suite on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GridCell {
    /// One for each run; empty: not known.
    pub marks: Vec<GridMark>,
    /// A file that it rests on changed since.
    pub stale: bool,
    pub current: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// `adversarial/NAME`.
    pub patch: String,
    pub role: Role,
    pub name: String,
    pub claim: Option<String>,
    /// As the columns.
    pub cells: Vec<GridCell>,
    pub official: Option<Passed>,
    pub official_stale: bool,
    pub verdict: RowVerdict,
}

/// A case behind a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct CellCase {
    pub suite: Suite,
    pub run: u32,
    pub result: CaseResult,
    /// Under which its story is kept; absent: it is known from the record alone.
    pub key: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    pub task: String,
    /// Gold's runs.
    pub runs: u32,
    pub live: Option<Progress>,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    /// What is known, judged by the task as it is now; from the record where no cell is here.
    pub acceptance: Option<Acceptance>,
    /// What was recorded last.
    pub recorded: Option<Acceptance>,
    pub freshness: Freshness,
    /// Newer than what rests on them; newest first.
    pub changed: Vec<Changed>,
    /// Patches on suites that a verify run would run again, as far as files tell.
    pub reruns: usize,
    pub tried: BTreeMap<SlotId, Tried>,
}

/// What a matrix is made of.
#[derive(Clone, Debug)]
pub struct Known {
    /// Of gold.
    pub runs: u32,
    pub tried: BTreeMap<SlotId, Tried>,
    pub recorded: Option<Acceptance>,
    pub freshness: Freshness,
    pub live: Option<Progress>,
    pub changed: Vec<Changed>,
}

impl Matrix {
    pub fn new(task: &Task, known: Known) -> Self {
        let spec = &task.spec;
        let Known {
            runs,
            tried,
            recorded,
            freshness,
            live,
            changed,
        } = known;
        let patches = patches(spec);
        let judged =
            (!tried.is_empty()).then(|| judge(spec, &patches, &tried, recorded.as_ref(), runs));
        let acceptance = judged.or_else(|| recorded.clone());
        let columns = columns(spec, &tried, acceptance.as_ref());
        let mut matrix = Self {
            task: spec.id.clone(),
            runs,
            live,
            columns,
            rows: Vec::new(),
            acceptance,
            recorded,
            freshness,
            changed,
            reruns: 0,
            tried,
        };
        for (role, name, claim) in patches {
            let row = matrix.row(spec, role, &name, claim);
            matrix.rows.push(row);
        }
        matrix.reruns = matrix.count_reruns(spec);
        matrix
    }

    fn row(&self, spec: &TaskSpec, role: Role, name: &str, claim: Option<String>) -> Row {
        let patch = role.label(name);
        let judged = self.acceptance.as_ref();
        let known = judged.and_then(|a| a.patches.iter().find(|p| p.patch == patch));
        let cells: Vec<GridCell> = self
            .columns
            .iter()
            .map(|column| self.cell(&patch, role, column, known))
            .collect();
        let told = |suite: Suite| {
            let runs = if role == Role::Gold { self.runs } else { 1 };
            spec.suites.get(suite).is_none()
                || (1..=runs).all(|run| self.tried.contains_key(&(patch.clone(), suite, run)))
        };
        let complete = self.tried.is_empty() || Suite::ALL.into_iter().all(told);
        let official = known
            .filter(|row| row.refused.is_none() && (self.tried.is_empty() || told(Suite::Official)))
            .map(|row| row.official);
        let verdict = match known {
            Some(known) if complete || known.refused.is_some() => verdict(self, known, &cells),
            _ => RowVerdict::open(),
        };
        Row {
            official_stale: self.stale(&patch, Suite::Official, None),
            patch,
            role,
            name: name.to_owned(),
            claim,
            cells,
            official,
            verdict,
        }
    }

    fn cell(&self, patch: &str, role: Role, column: &Column, known: Option<&PatchRow>) -> GridCell {
        let runs = if role == Role::Gold { self.runs } else { 1 };
        let strongest = known
            .and_then(|row| {
                let own = |r: &&crate::domain::acceptance::Rejection| r.function == column.function;
                row.rejected_by.iter().find(own)
            })
            .map(|r| r.how);
        if self.tried.is_empty() {
            let refused = known.is_none_or(|row| row.refused.is_some());
            let mark = strongest.map_or(GridMark::Passed, GridMark::Rejects);
            // it tells of no run alone
            let marks = usize::from(!refused);
            return GridCell {
                marks: vec![mark; marks],
                stale: self.stale(patch, Suite::Probes, Some(column.file())),
                current: true,
            };
        }
        let mut cell = GridCell {
            current: true,
            stale: self.stale(patch, Suite::Probes, Some(column.file())),
            ..GridCell::default()
        };
        for run in 1..=runs {
            let Some(tried) = self.tried.get(&(patch.to_owned(), Suite::Probes, run)) else {
                continue;
            };
            cell.current &= tried.current;
            let own = tried
                .results()
                .filter(|(_, r)| r.id.function() == column.function);
            let worst = own.map(|(_, r)| r.outcome).reduce(Outcome::worst);
            cell.marks
                .push(mark(worst.unwrap_or(Outcome::Missing), strongest));
        }
        cell
    }

    /// Whether a file changed since on which a patch on a suite, or on a test file of it, rests.
    fn stale(&self, patch: &str, suite: Suite, file: Option<&str>) -> bool {
        let Some(read_s) = self.read_s(patch, suite) else {
            return false;
        };
        let newer = |c: &&Changed| c.at_s > read_s;
        (self.changed.iter().filter(newer)).any(|c| c.touches(patch, suite, file))
    }

    /// When what a patch on a suite rests on was read; of several runs, the earliest.
    fn read_s(&self, patch: &str, suite: Suite) -> Option<f64> {
        if self.tried.is_empty() {
            return self.recorded.as_ref().map(|r| r.created_s);
        }
        let own = |((p, s, _), _): &(&SlotId, &Tried)| p == patch && *s == suite;
        let times = self.tried.iter().filter(own).map(|(_, tried)| tried.read_s);
        times.reduce(f64::min)
    }

    fn count_reruns(&self, spec: &TaskSpec) -> usize {
        let mut count = 0;
        for row in &self.rows {
            let runs = if row.role == Role::Gold { self.runs } else { 1 };
            for suite in Suite::ALL {
                if spec.suites.get(suite).is_none() {
                    continue;
                }
                for run in 1..=runs {
                    let known = self.tried.contains_key(&(row.patch.clone(), suite, run));
                    let refused = row.verdict.refused;
                    if !refused && (!known || self.stale(&row.patch, suite, None)) {
                        count += 1;
                    }
                }
            }
        }
        count
    }

    /// Whether a cell is not as the acceptance rule wants it, or stands behind a warning; no
    /// column: the official suite.
    pub fn broken(&self, row: usize, column: Option<usize>) -> bool {
        let Some(row) = self.rows.get(row) else {
            return false;
        };
        let Some(at) = column else {
            return row.verdict.sign == Sign::Breaks && row.verdict.official;
        };
        let (Some(column), Some(cell)) = (self.columns.get(at), row.cells.get(at)) else {
            return false;
        };
        let rejects = cell.marks.iter().any(|m| *m != GridMark::Passed);
        let own = row
            .claim
            .as_ref()
            .is_some_and(|c| column.claims.contains(c));
        match row.role {
            _ if cell.marks.is_empty() => false,
            Role::Mutant => false,
            Role::Gold | Role::Alternative => rejects,
            Role::Base => rejects == column.guard,
            Role::Hollow => !rejects && !column.guard,
            // the claim's own probes did not do their work
            Role::Adversarial => match row.verdict.sign {
                Sign::Breaks => own && !rejects && !row.verdict.official,
                Sign::Warns if self.own_rejects(row) => {
                    own && rejects && !cell.marks.iter().any(|m| m.asserts())
                }
                Sign::Warns => own && !rejects,
                Sign::Holds | Sign::Open => false,
            },
        }
    }

    /// Whether a probe of the claim that a patch violates rejects it.
    fn own_rejects(&self, row: &Row) -> bool {
        let claimed = |column: &Column| {
            let claim = row.claim.as_ref();
            claim.is_some_and(|claim| column.claims.contains(claim))
        };
        let mut cells = self.columns.iter().zip(&row.cells);
        cells.any(|(column, cell)| {
            claimed(column) && cell.marks.iter().any(|m| *m != GridMark::Passed)
        })
    }

    /// Patches on suites that a whole verify run knows of.
    pub fn slots(spec: &TaskSpec, runs: u32) -> usize {
        let suites = Suite::ALL
            .into_iter()
            .filter(|s| spec.suites.get(*s).is_some());
        (patches(spec).len() + runs.max(1) as usize - 1) * suites.count()
    }

    /// The cases behind a cell, those that did not pass first; no column: the official suite.
    pub fn cases(&self, row: usize, column: Option<usize>) -> Vec<CellCase> {
        let Some(row) = self.rows.get(row) else {
            return Vec::new();
        };
        let function = column.map(|at| self.columns.get(at).map(|c| c.function.as_str()));
        let (suite, function) = match function {
            Some(None) => return Vec::new(),
            Some(Some(function)) => (Suite::Probes, Some(function)),
            None => (Suite::Official, None),
        };
        let mut cases: Vec<CellCase> = self
            .tried
            .iter()
            .filter(|((patch, own, _), _)| *patch == row.patch && *own == suite)
            .flat_map(|((_, _, run), tried)| tried.results().map(move |(key, r)| (*run, key, r)))
            .filter(|(_, _, r)| function.is_none_or(|f| r.id.function() == f))
            .map(|(run, key, result)| CellCase {
                suite,
                run,
                result: result.clone(),
                key: Some(key.to_owned()),
            })
            .collect();
        if self.tried.is_empty() {
            cases.extend(self.on_record(row, function));
        }
        cases.sort_by_key(|case| case.result.outcome.passed());
        cases
    }

    /// The case that the record tells of a rejection.
    fn on_record(&self, row: &Row, function: Option<&str>) -> Option<CellCase> {
        let known = self.acceptance.as_ref()?;
        let patch = known.patches.iter().find(|p| p.patch == row.patch)?;
        let told = (patch.rejected_by.iter()).find(|r| Some(r.function.as_str()) == function)?;
        let result = CaseResult {
            id: told.case.clone(),
            outcome: told.outcome,
            phase: Phase::Call,
            duration_s: 0.0,
            ranks: Vec::new(),
            message: told.message.clone(),
            detail_offset: None,
        };
        Some(CellCase {
            suite: Suite::Probes,
            run: 1,
            result,
            key: None,
        })
    }
}
