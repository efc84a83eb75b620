//! The map of a task: its cases down, its graded submissions across, gold before them.

use std::collections::HashMap;

use crate::domain::{CaseId, GradedCase, Outcome, RunId, Source, Suite, Work, signature};
use crate::tui::panes::tasks::state::{sources, standing_run};
use crate::tui::state::App;

use super::filter::Only;
use super::state::Mark;

#[derive(Clone, Debug, PartialEq)]
pub struct HeatColumn {
    pub source: Source,
    pub run: RunId,
}

#[derive(Clone, Debug, PartialEq)]
pub struct HeatRow {
    pub suite: Suite,
    pub id: CaseId,
    pub gold: Mark,
    /// One a column.
    pub cells: Vec<Mark>,
    /// Columns that pass it, of those that ran it.
    pub passed: usize,
    pub ran: usize,
}

#[derive(Clone, Debug, Default)]
pub struct Heat {
    pub open: bool,
    pub columns: Vec<HeatColumn>,
    /// Those that pass the filters.
    pub rows: Vec<HeatRow>,
    /// Before the filters.
    pub cases: usize,
    pub row: usize,
    pub column: usize,
    pub top: usize,
    pub left: usize,
    /// Where the cursor is to stand once that is there.
    pub wanted: Option<((Suite, CaseId), Source)>,
    /// What the fewest pass comes first.
    pub hardest_first: bool,
}

impl Heat {
    pub fn here(&self) -> Option<(&HeatRow, &HeatColumn)> {
        Some((self.rows.get(self.row)?, self.columns.get(self.column)?))
    }

    pub fn step_column(&mut self, right: bool) {
        let last = self.columns.len().saturating_sub(1);
        self.column = if right {
            (self.column + 1).min(last)
        } else {
            self.column.saturating_sub(1)
        };
    }

    /// To the next case that gold passes and the column under the cursor does not.
    pub fn step_failing(&mut self, forward: bool) -> bool {
        let column = self.column;
        let fails = |at: &usize| {
            let row = self.rows.get(*at);
            let gold = row.is_some_and(|row| row.gold == Mark::Done(Outcome::Passed));
            let cell = row.and_then(|row| row.cells.get(column));
            gold && matches!(cell, Some(Mark::Done(outcome)) if !outcome.passed())
        };
        let found = if forward {
            (self.row + 1..self.rows.len()).find(fails)
        } else {
            (0..self.row.min(self.rows.len())).rev().find(fails)
        };
        self.row = found.unwrap_or(self.row);
        found.is_some()
    }
}

/// The case of a run, where its cases are read.
pub fn graded<'a>(app: &'a App, run: &RunId, suite: Suite, id: &CaseId) -> Option<&'a GradedCase> {
    let cases = app.cases.known.get(run)?;
    cases.iter().find(|c| c.suite == suite && c.id == *id)
}

/// Graded submissions of the selected task, in the tree's order; gold is no column.
fn columns(app: &App) -> Vec<HeatColumn> {
    let Some(task) = app.target.task.as_deref().and_then(|id| app.task(id)) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for source in sources(app, task) {
        let run = standing_run(app, task.id(), &source)
            .filter(|run| run.work == Work::Grade && run.only == 0 && run.verdict.is_some());
        if let Some(run) = run.filter(|_| source != Source::Gold) {
            let run = run.id.clone();
            out.push(HeatColumn { source, run });
        }
    }
    out
}

/// Runs of the map whose cases are not read yet.
pub fn missing(app: &App) -> Vec<RunId> {
    if !app.cases.heat.open {
        return Vec::new();
    }
    let runs = app.cases.heat.columns.iter().map(|column| &column.run);
    let unknown = runs.filter(|run| !app.cases.known.contains_key(run));
    unknown.cloned().collect()
}

/// Makes rows and columns anew; the cursor stays on its case and its submission.
pub fn rebuild(app: &mut App) {
    if !app.cases.heat.open {
        return;
    }
    let heat = &mut app.cases.heat;
    let here = heat.here().map(|(row, column)| {
        let case = (row.suite, row.id.clone());
        (case, column.source.clone())
    });
    let before = heat.wanted.take().or(here);
    let columns = columns(app);
    let mut rows: Vec<HeatRow> = Vec::new();
    let mut place: HashMap<(Suite, &CaseId), usize> = HashMap::new();
    let mut signs: Vec<Vec<String>> = Vec::new();
    let by_signature = matches!(app.cases.only, Some(Only::Signature(_)));
    for suite in Suite::ALL {
        for (at, column) in columns.iter().enumerate() {
            let known = app.cases.known.get(&column.run);
            for case in known.iter().flat_map(|cases| cases.iter()) {
                if case.suite != suite {
                    continue;
                }
                let row = *place.entry((suite, &case.id)).or_insert_with(|| {
                    rows.push(HeatRow {
                        suite,
                        id: case.id.clone(),
                        gold: Mark::Done(case.gold),
                        cells: vec![Mark::Unknown; columns.len()],
                        passed: 0,
                        ran: 0,
                    });
                    signs.push(Vec::new());
                    rows.len() - 1
                });
                if by_signature
                    && !case.outcome.passed()
                    && let Some(signs) = signs.get_mut(row)
                {
                    signs.push(signature(case.outcome, case.message.as_deref()));
                }
                if let Some(row) = rows.get_mut(row)
                    && let Some(cell) = row.cells.get_mut(at)
                {
                    *cell = Mark::Done(case.outcome);
                    row.ran += 1;
                    row.passed += usize::from(case.outcome.passed());
                }
            }
        }
    }
    let all = rows.len();
    let needle = app.cases.filter.to_lowercase();
    let task = app.target.task.as_deref().and_then(|id| app.task(id));
    let cases = &app.cases;
    let mut signs = signs.into_iter();
    rows.retain(|row| {
        let signs = signs.next().unwrap_or_default();
        let rejected = row.gold == Mark::Done(Outcome::Passed) && row.passed < row.ran;
        let only = match &cases.only {
            None => true,
            Some(Only::Signature(signature)) => signs.contains(signature),
            Some(Only::Claim(claim)) => task
                .and_then(|task| task.claim_of(row.id.function()))
                .is_some_and(|own| own.id == *claim),
        };
        only && (!cases.only_rejected || rejected)
            && cases.suite.is_none_or(|suite| suite == row.suite)
            && (needle.is_empty() || row.id.as_str().to_lowercase().contains(&needle))
    });
    if cases.heat.hardest_first {
        // by the share that passes: stable, so that equals stay in order
        rows.sort_by_key(|row| row.passed * 10_000 / row.ran.max(1));
    }
    let heat = &mut app.cases.heat;
    (heat.rows, heat.columns, heat.cases) = (rows, columns, all);
    if all == 0 {
        heat.wanted = before;
        return;
    }
    if let Some(((suite, id), source)) = before {
        let same = |row: &HeatRow| row.suite == suite && row.id == id;
        if let Some(at) = heat.rows.iter().position(same) {
            heat.row = at;
        }
        if let Some(at) = heat.columns.iter().position(|c| c.source == source) {
            heat.column = at;
        }
    }
    heat.row = heat.row.min(heat.rows.len().saturating_sub(1));
    heat.column = heat.column.min(heat.columns.len().saturating_sub(1));
}
