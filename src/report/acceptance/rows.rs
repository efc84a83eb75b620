//! What a row of the matrix comes to, in a few words.

use super::matrix::{Column, GridCell, GridMark, Matrix};
use crate::domain::acceptance::{FindingKind, How, PatchRow, Rejection, Role};

/// Whether a row does what the acceptance rule wants of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    Holds,
    /// It holds, with a warning.
    Warns,
    Breaks,
    /// Not all of it is known.
    Open,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RowVerdict {
    pub sign: Sign,
    /// May quote names of the task.
    pub words: String,
    /// Nothing of the patch can run.
    pub refused: bool,
    /// It breaks by its score on the official suite.
    pub official: bool,
}

impl RowVerdict {
    pub fn open() -> Self {
        Self {
            sign: Sign::Open,
            words: String::new(),
            refused: false,
            official: false,
        }
    }

    fn new(sign: Sign, words: impl Into<String>) -> Self {
        Self {
            sign,
            words: words.into(),
            refused: false,
            official: false,
        }
    }
}

/// What a row of which all is known comes to; `cells` as the matrix' columns.
pub fn verdict(matrix: &Matrix, row: &PatchRow, cells: &[GridCell]) -> RowVerdict {
    if let Some((cause, message)) = &row.refused {
        let line = message.lines().next().unwrap_or("");
        return RowVerdict {
            refused: true,
            ..RowVerdict::new(
                Sign::Breaks,
                format!("cannot be tried ({}): {line}", cause.name()),
            )
        };
    }
    let columns = &matrix.columns;
    match row.role {
        Role::Gold => gold(columns, cells, matrix.runs),
        Role::Base => must_reject(columns, row, true),
        Role::Hollow => must_reject(columns, row, false),
        // a mutant that is no adversarial patch of the task has no row
        Role::Adversarial | Role::Mutant => adversarial(matrix, row),
        Role::Alternative => match row.rejected_by.first() {
            Some(first) => {
                let words = format!(
                    "rejected by {}{}",
                    name(columns, &first.function),
                    more(row.rejected_by.len() - 1)
                );
                RowVerdict::new(Sign::Breaks, words)
            }
            None if below_gold(matrix, row) => below(),
            None => RowVerdict::new(Sign::Holds, "accepted"),
        },
    }
}

fn gold(columns: &[Column], cells: &[GridCell], runs: u32) -> RowVerdict {
    let mut bad = columns.iter().zip(cells).filter_map(|(column, cell)| {
        let at = cell.marks.iter().position(|m| *m != GridMark::Passed)?;
        let all = cell.marks.iter().all(|m| *m != GridMark::Passed);
        Some((column.name(), at + 1, cell.marks.get(at), all))
    });
    let Some((name, run, mark, all)) = bad.next() else {
        return if columns.is_empty() {
            RowVerdict::new(Sign::Breaks, "gold collects no probe")
        } else {
            RowVerdict::new(Sign::Holds, format!("passes all, {runs} runs"))
        };
    };
    let rest = more(bad.count());
    let what = match mark {
        Some(GridMark::Rejects(How::Skipped)) => "skipped",
        Some(GridMark::Rejects(How::Missing)) => "missing",
        Some(GridMark::Rejects(How::Timeout)) => "timed out",
        _ => "failed",
    };
    let words = if all {
        format!("{name} {what}{rest}")
    } else {
        format!("flaky: {name} {what} in run {run}{rest}")
    };
    RowVerdict::new(Sign::Breaks, words)
}

/// Every probe must reject the patch; guards must pass where `guards` says so.
fn must_reject(columns: &[Column], row: &PatchRow, guards: bool) -> RowVerdict {
    let rejects = |column: &&Column| {
        let own = |r: &Rejection| r.function == column.function;
        row.rejected_by.iter().any(own)
    };
    let (mut broken_guards, mut accepting) = (Vec::new(), Vec::new());
    for column in columns {
        match (column.guard, rejects(&column)) {
            (true, true) if guards => broken_guards.push(column.name()),
            (false, false) => accepting.push(column.name()),
            _ => {}
        }
    }
    if let Some(first) = accepting.first() {
        let words = format!("accepted by {first}{}", more(accepting.len() - 1));
        return RowVerdict::new(Sign::Breaks, words);
    }
    if let Some(first) = broken_guards.first() {
        let words = format!("guard {first} fails{}", more(broken_guards.len() - 1));
        return RowVerdict::new(Sign::Breaks, words);
    }
    let all = columns.iter().filter(|c| !c.guard).count();
    RowVerdict::new(Sign::Holds, format!("rejected by all {all}"))
}

fn adversarial(matrix: &Matrix, row: &PatchRow) -> RowVerdict {
    let guard = |function: &str| {
        let own = |c: &&Column| c.function == function;
        matrix.columns.iter().find(own).is_some_and(|c| c.guard)
    };
    let counted = row.rejected_by.iter().filter(|r| !guard(&r.function));
    let Some(how) = counted.map(|r| r.how).min() else {
        return RowVerdict::new(Sign::Breaks, "survives: no probe rejects it");
    };
    if below_gold(matrix, row) {
        return below();
    }
    let claim = row.claim.as_deref().unwrap_or("its claim");
    let own = row.by_its_claim() > 0;
    let (sign, words) = match (how, own) {
        (How::Assertion, true) => (Sign::Holds, format!("by {claim}'s own, by assertion")),
        (How::Assertion, false) => (Sign::Warns, format!("by others' probes, not {claim}'s")),
        (how, true) => (
            Sign::Warns,
            format!("by {claim}'s own, by {} only", how.words()),
        ),
        (how, false) => (Sign::Warns, format!("by {}, not by {claim}'s", how.words())),
    };
    RowVerdict::new(sign, words)
}

fn below_gold(matrix: &Matrix, row: &PatchRow) -> bool {
    let revise = matrix.acceptance.iter().flat_map(|a| &a.revise);
    let below = |kind| kind == FindingKind::OfficialBelowGold;
    revise
        .into_iter()
        .any(|f| below(f.kind) && f.subject == row.patch)
}

fn below() -> RowVerdict {
    RowVerdict {
        official: true,
        ..RowVerdict::new(Sign::Breaks, "official score below gold's")
    }
}

fn name(columns: &[Column], function: &str) -> String {
    let known = columns.iter().find(|c| c.function == function);
    known.map_or_else(|| function.to_owned(), Column::name)
}

fn more(rest: usize) -> String {
    match rest {
        0 => String::new(),
        n => format!(" +{n}"),
    }
}
