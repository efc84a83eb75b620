//! Where the matrix' parts stand inside its pane.

use ratatui::layout::Rect;

use crate::domain::acceptance::Role as Patch;
use crate::report::acceptance::{Column, Matrix, Row};
use crate::tui::state::App;
use crate::tui::text;

use super::head;

/// Below this width the words of a row's verdict stand under the matrix, not in it.
const WIDE: usize = 100;
/// A column is not made wider than this.
const WIDEST: usize = 14;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Geometry {
    pub bar: bool,
    /// Rows of the head: file names, words of the names, claims.
    pub files: bool,
    pub words: usize,
    pub claims: bool,
    /// Rows of patches.
    pub rows: usize,
    /// Rows below them, about what is under the cursor.
    pub foot: usize,
    pub label: usize,
    pub claim: usize,
    pub column: usize,
    /// Columns that are seen.
    pub columns: usize,
    pub official: usize,
    /// 0: only its sign.
    pub verdict: usize,
}

impl Geometry {
    pub fn of(app: &App, inner: Rect) -> Self {
        let Some(matrix) = &app.acceptance.matrix else {
            return Self::default();
        };
        let (width, height) = (usize::from(inner.width), usize::from(inner.height));
        let mut g = Self {
            bar: matrix.live.as_ref().is_some_and(|live| !live.rests) && height > 6,
            ..Self::default()
        };
        g.across(app, matrix, width);
        g.down(
            matrix,
            height,
            app.acceptance.shown.len(),
            app.plan().shows(crate::tui::layout::PaneKind::Cell),
        );
        g
    }

    fn across(&mut self, app: &App, matrix: &Matrix, width: usize) {
        let longest = |of: &dyn Fn(&Row) -> usize| matrix.rows.iter().map(of).max().unwrap_or(0);
        self.claim = longest(&|row| {
            row.claim
                .as_deref()
                .map_or(0, |c| text::width(&text::clean(c)))
        });
        self.claim = self.claim.min(6);
        let label = longest(&|row| text::width(&text::clean(&label(app, matrix, row))));
        self.label = label.min((width / 4).max(12)).min(width);
        self.official = longest(&|row| official(app, row).len()).max(3);
        let wordy = if width >= WIDE {
            longest(&|row| text::width(&text::clean(&row.verdict.words))).min(width * 3 / 10)
        } else {
            0
        };
        // label, claim, cells, official, sign and words, each with a blank before it
        let fixed = self.label + self.claim + self.official + 9;
        let least = (matrix.runs as usize).max(1) + 1;
        let count = matrix.columns.len().max(1);
        let mut room = width.saturating_sub(fixed + wordy);
        self.verdict = wordy;
        if room < least * count.min(8) && wordy > 24 {
            room = width.saturating_sub(fixed + 24);
            self.verdict = 24;
        }
        self.column = (room / count).clamp(least, WIDEST.max(least));
        self.columns = (room / self.column).clamp(1, count);
    }

    fn down(&mut self, matrix: &Matrix, height: usize, rows: usize, cell_is_seen: bool) {
        let files = matrix.columns.first().is_some_and(|first| {
            let other = |column: &Column| column.file() != first.file();
            matrix.columns.iter().any(other)
        });
        let mut left = height.saturating_sub(usize::from(self.bar));
        self.words = usize::from(left > 3);
        self.foot = match (left, cell_is_seen) {
            (0..=4, _) => 0,
            (5..=9, _) | (_, true) => 1,
            _ => 3,
        };
        left = left.saturating_sub(self.words + self.foot);
        self.claims = left > 5;
        left = left.saturating_sub(usize::from(self.claims));
        self.files = files && left > 8;
        left = left.saturating_sub(usize::from(self.files));
        let most = if self.column >= WIDEST { 1 } else { 3 };
        // words of names where patches need not give way, and two where there is some height
        while self.words <= most && (left > rows || self.words < 2 && left > 8) {
            self.words += 1;
            left -= 1;
        }
        // no more than the names have
        let own =
            |column: &Column| head::words(&column.name(), self.words, self.column - 1, "").len();
        let needed = matrix.columns.iter().map(own).max().unwrap_or(self.words);
        left += self.words - needed.min(self.words);
        self.words = needed.min(self.words);
        self.rows = left;
    }

    pub fn head(&self) -> usize {
        usize::from(self.files) + self.words + usize::from(self.claims)
    }
}

/// `gold ×3`, `adv full-buffer`.
pub fn label(app: &App, matrix: &Matrix, row: &Row) -> String {
    let times = if app.ui.glyphs.unicode { "×" } else { "x" };
    match row.role {
        Patch::Gold => format!("gold {times}{}", matrix.runs),
        Patch::Base | Patch::Hollow => row.role.name().to_owned(),
        Patch::Adversarial => format!("adv {}", row.name),
        Patch::Mutant => format!("mut {}", row.name),
        Patch::Alternative => format!("alt {}", row.name),
    }
}

/// `18/18`.
pub fn official(app: &App, row: &Row) -> String {
    row.official.map_or_else(
        || app.ui.glyphs.dash.to_owned(),
        |p| format!("{}/{}", p.passed, p.of),
    )
}
