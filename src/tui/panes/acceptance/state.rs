//! Which matrix is shown, and where its cursor is.

use crate::domain::RunId;
use crate::report::acceptance::{Matrix, Row, Sign};
use crate::tui::backend::RunStatus;

#[derive(Clone, Debug, Default)]
pub struct AcceptanceState {
    /// Whose matrix this is.
    pub task: Option<String>,
    pub matrix: Option<Box<Matrix>>,
    pub loading: bool,
    /// Something that it is made of changed since it was asked for.
    pub outdated: bool,
    pub error: Option<String>,
    /// Verify runs of the task as they stood when it was asked for, newest first.
    pub seen: Vec<(RunId, RunStatus)>,
    pub only_broken: bool,
    /// Rows of the matrix that pass the filter.
    pub shown: Vec<usize>,
    /// Index of `shown`.
    pub row: usize,
    /// After the last probe function stands the official suite.
    pub column: usize,
    pub top: usize,
    pub left: usize,
}

impl AcceptanceState {
    /// Begins with another task.
    pub fn turn_to(&mut self, task: Option<String>) {
        *self = Self {
            task,
            outdated: true,
            only_broken: self.only_broken,
            ..Self::default()
        };
    }

    /// Rows of the pane that show all of the matrix: border, head and foot with its patches. The
    /// filter does not change it, so that nothing jumps.
    pub fn rows_wanted(&self) -> u16 {
        const ASIDE: usize = 10;
        let rows = self.matrix.as_ref().map_or(10, |m| m.rows.len());
        u16::try_from(rows + ASIDE).unwrap_or(u16::MAX)
    }

    /// Index of the matrix' row under the cursor.
    pub fn at(&self) -> Option<usize> {
        self.shown.get(self.row).copied()
    }

    pub fn selected(&self) -> Option<&Row> {
        self.matrix.as_ref()?.rows.get(self.at()?)
    }

    /// The probe function under the cursor; `None`: the official suite.
    pub fn function(&self) -> Option<usize> {
        let columns = self.matrix.as_ref().map_or(0, |m| m.columns.len());
        (self.column < columns).then_some(self.column)
    }

    /// Takes a newer matrix; the cursor stays on its patch and function.
    pub fn take(&mut self, matrix: Box<Matrix>) {
        let patch = self.selected().map(|row| row.patch.clone());
        // one without columns says nothing of where the cursor wants to be
        let before = self.matrix.take().filter(|m| !m.columns.is_empty());
        let function = before.as_ref().map(|m| {
            let column = m.columns.get(self.column);
            column.map(|column| column.function.clone())
        });
        self.matrix = Some(matrix);
        self.refilter();
        let Some(matrix) = &self.matrix else { return };
        let row = |at: &usize| matrix.rows.get(*at).map(|row| &row.patch) == patch.as_ref();
        if let Some(at) = self.shown.iter().position(row) {
            self.row = at;
        }
        self.column = match function {
            Some(None) => matrix.columns.len(),
            Some(Some(name)) => (matrix.columns.iter())
                .position(|column| column.function == name)
                .unwrap_or(self.column),
            None => 0,
        };
        self.column = self.column.min(matrix.columns.len());
    }

    pub fn refilter(&mut self) {
        let before = self.at();
        let rows = self.matrix.as_ref().map_or(&[][..], |m| &m.rows);
        let broken = |row: &Row| matches!(row.verdict.sign, Sign::Breaks | Sign::Warns);
        self.shown = (0..rows.len())
            .filter(|at| !self.only_broken || rows.get(*at).is_some_and(broken))
            .collect();
        let kept = before.and_then(|at| self.shown.iter().position(|row| *row == at));
        self.row = kept.unwrap_or_else(|| self.row.min(self.shown.len().saturating_sub(1)));
    }

    pub fn step_column(&mut self, right: bool) {
        let last = self.matrix.as_ref().map_or(0, |m| m.columns.len());
        self.column = if right {
            (self.column + 1).min(last)
        } else {
            self.column.saturating_sub(1)
        };
    }

    /// Goes to the next or previous cell that breaks the rule or stands behind a warning, row by
    /// row.
    pub fn step_broken(&mut self, forward: bool) -> bool {
        let Some(matrix) = &self.matrix else {
            return false;
        };
        let columns = matrix.columns.len() + 1;
        let here = self.row * columns + self.column;
        let broken = |place: &usize| {
            let (row, column) = (place / columns, place % columns);
            let column = (column + 1 < columns).then_some(column);
            self.shown
                .get(row)
                .is_some_and(|at| matrix.broken(*at, column))
        };
        let all = self.shown.len() * columns;
        let found = if forward {
            (here + 1..all).find(broken)
        } else {
            (0..here.min(all)).rev().find(broken)
        };
        if let Some(place) = found {
            (self.row, self.column) = (place / columns, place % columns);
        }
        found.is_some()
    }

    /// Goes to a patch, and to a probe function where one is named.
    pub fn go_to(&mut self, patch: Option<&str>, function: Option<&str>) -> bool {
        let Some(matrix) = &self.matrix else {
            return false;
        };
        let row = patch.and_then(|patch| {
            let of = |at: &usize| matrix.rows.get(*at).is_some_and(|row| row.patch == patch);
            self.shown.iter().position(of)
        });
        let column = function.and_then(|name| {
            matrix
                .columns
                .iter()
                .position(|column| column.function == name)
        });
        self.row = row.unwrap_or(self.row);
        self.column = column.unwrap_or(self.column);
        row.is_some() || column.is_some()
    }
}
