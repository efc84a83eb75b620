//! Which cases are shown, and in what order.

use std::collections::BTreeMap;

use crate::tui::state::App;

use super::state::{CaseRow, CasesState, Turn};

/// What all shown cases have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Only {
    Claim(String),
    Signature(String),
}

impl Only {
    fn holds(&self, row: &CaseRow) -> bool {
        match self {
            Only::Claim(claim) => row.claim.as_ref() == Some(claim),
            Only::Signature(signature) => row.signature.as_ref() == Some(signature),
        }
    }

    /// As the title says it; untrusted.
    pub fn words(&self) -> &str {
        match self {
            Only::Claim(words) | Only::Signature(words) => words,
        }
    }
}

impl CasesState {
    pub fn filtered(&self) -> bool {
        self.only_rejected
            || self.only_changed
            || self.only.is_some()
            || self.suite.is_some()
            || !self.filter.is_empty()
    }

    pub fn clear_filters(&mut self) {
        self.filter.clear();
        self.only_rejected = false;
        self.only_changed = false;
        self.only = None;
        self.suite = None;
    }

    /// How many cases ended otherwise than in the run before.
    pub fn changed(&self) -> usize {
        self.all.iter().filter(|row| row.turn().is_some()).count()
    }

    fn passes(&self, row: &CaseRow, needle: &str) -> bool {
        (!self.only_rejected || row.rejected())
            && (!self.only_changed || row.turn().is_some())
            && self.only.as_ref().is_none_or(|only| only.holds(row))
            && self.suite.is_none_or(|suite| suite == row.suite)
            && (needle.is_empty() || row.id.as_str().to_lowercase().contains(needle))
    }

    /// Applies the filters; the selection stays on its case where it is still shown.
    pub fn refilter(&mut self) {
        let before = self.selected_row().map(|row| (row.suite, row.id.clone()));
        let needle = self.filter.to_lowercase();
        let mut shown: Vec<usize> = (self.all.iter().enumerate())
            .filter(|(_, row)| self.passes(row, &needle))
            .map(|(at, _)| at)
            .collect();
        if self.slowest_first {
            let time = |at: &usize| self.all.get(*at).and_then(|row| row.duration_s);
            shown.sort_by(|a, b| {
                let (a, b) = (time(a).unwrap_or(-1.0), time(b).unwrap_or(-1.0));
                b.total_cmp(&a)
            });
        }
        self.shown = shown;
        let found = before.and_then(|(suite, id)| {
            let same = |row: &CaseRow| row.suite == suite && row.id == id;
            let at = |at: &usize| self.all.get(*at).is_some_and(same);
            self.shown.iter().position(at)
        });
        let last = self.shown.len().saturating_sub(1);
        self.selected = found.unwrap_or_else(|| self.selected.min(last));
    }

    /// What cases have in common: signatures of failures, the most frequent first, then claims;
    /// each with how many cases it has, and how many of them are rejected.
    pub fn groups(&self) -> Vec<(Only, usize, usize)> {
        let mut signatures: BTreeMap<&String, (usize, usize)> = BTreeMap::new();
        let mut claims: BTreeMap<&String, (usize, usize)> = BTreeMap::new();
        for row in &self.all {
            let of = [
                row.signature.as_ref().map(|name| (&mut signatures, name)),
                row.claim.as_ref().map(|name| (&mut claims, name)),
            ];
            for (groups, name) in of.into_iter().flatten() {
                let (all, rejected) = groups.entry(name).or_default();
                *all += 1;
                *rejected += usize::from(row.rejected());
            }
        }
        let mut out: Vec<_> = (signatures.into_iter())
            .map(|(name, (all, rejected))| (Only::Signature(name.clone()), all, rejected))
            .collect();
        out.sort_by_key(|(_, all, _)| std::cmp::Reverse(*all));
        let mut claims: Vec<_> = claims.into_iter().collect();
        // C2 before C10
        claims.sort_by_key(|(name, _)| name.len());
        let claims = claims.into_iter();
        out.extend(
            claims.map(|(name, (all, rejected))| (Only::Claim(name.clone()), all, rejected)),
        );
        out
    }
}

/// One cell for a turn, where the terminal has them.
pub fn turn_glyph(app: &App, turn: Turn) -> &'static str {
    match (turn, app.ui.glyphs.unicode) {
        (Turn::Fixed, true) => "↑",
        (Turn::Broke, true) => "↓",
        (Turn::Otherwise, true) => "≠",
        (Turn::Fixed, false) => "^",
        (Turn::Broke, false) => "v",
        (Turn::Otherwise, false) => "~",
    }
}
