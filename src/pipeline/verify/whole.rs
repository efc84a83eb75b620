//! Gold's runs of whole suites, on which alone something is recorded: a cell of a part was kept from
//! another text, or ran without the tests before it, and cannot tell what tests share in the project
//! or in a helper. What says otherwise as a whole is taken as a whole from there on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::cells::{Cells, Missing, Slot};
use super::files::{Part, Together};
use crate::domain::acceptance::Role;
use crate::domain::cell::Cell;
use crate::domain::{CaseResult, Level, Outcome, Suite};
use crate::pipeline::error::Stop;

/// A part that says otherwise alone, and how.
type Differs = (Part, String);

impl Cells<'_> {
    /// Whether gold has run as a whole on all suites, in all runs, on these very texts.
    pub fn is_confirmed(&self, slots: &[Slot]) -> Result<bool, Stop> {
        for slot in slots.iter().filter(|slot| self.is_gold(**slot)) {
            let whole = self.kept_of(*slot, vec![Part::default()], &[])?;
            if !whole.1.is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Makes gold's runs as a whole known: they are what is judged. Whatever tells otherwise in parts
    /// is run together, by all patches.
    pub async fn confirm(&mut self, slots: &[Slot], beside: usize) -> Result<(), Stop> {
        let (gold, others): (Vec<Slot>, Vec<Slot>) =
            slots.iter().copied().partition(|slot| self.is_gold(*slot));
        if !self.whole_gold {
            self.whole_gold = true;
            Box::pin(self.fill(gold.clone(), beside)).await?;
        }
        // each time something is taken together that was apart, so that this ends
        loop {
            let found = self.differing(&gold)?;
            if found.is_empty() {
                return Ok(());
            }
            let mut suites = BTreeSet::new();
            for (slot, (part, how)) in found {
                suites.insert(slot.suite);
                self.take_as_a_whole(slot, &part, how);
            }
            let again = others.iter().filter(|slot| suites.contains(&slot.suite));
            Box::pin(self.fill(again.copied().collect(), beside)).await?;
        }
    }

    fn is_gold(&self, slot: Slot) -> bool {
        self.candidates[slot.candidate].role == Role::Gold
    }

    fn take_as_a_whole(&mut self, slot: Slot, part: &Part, how: String) {
        let what = match (&part.file, &part.function) {
            (Some(file), Some(_)) => file.clone(),
            _ => format!("the {} suite", slot.suite),
        };
        let take = |together: &mut BTreeMap<Suite, Together>| {
            let together = together.entry(slot.suite).or_default();
            match (&part.file, &part.function) {
                (Some(file), Some(_)) => together.files.extend([file.clone()]),
                _ => together.suite = true,
            }
        };
        take(&mut self.known.together);
        self.memory.share(|shares| {
            take(&mut shares.together);
            shares
                .words
                .entry(what.clone())
                .or_insert_with(|| how.clone());
        });
        let text = format!("{what}: its tests share state ({how}): they run together from here on");
        if self.known.shares.insert(what, how).is_none() {
            self.recorder.say(Level::Warn, text);
        }
    }

    /// Parts of gold's slots that are known and say otherwise than the whole; those that are not known
    /// are taken from it.
    fn differing(&self, gold: &[Slot]) -> Result<Vec<(Slot, Differs)>, Stop> {
        let mut found = Vec::new();
        for slot in gold {
            let (whole, _) = self.kept_of(*slot, vec![Part::default()], &[])?;
            let parts = self.apart(slot.suite);
            let Some(whole) = whole.first().filter(|_| parts != [Part::default()]) else {
                continue;
            };
            // what was to run again has just done so, as a whole
            let (known, missing) = self.kept_of(*slot, parts, self.again)?;
            let of = |cell: &Arc<Cell>| Part {
                file: cell.file.clone(),
                function: cell.function.clone(),
            };
            // what a known part holds is no other's
            let parts: Vec<Part> = known.iter().map(of).collect();
            let held = |id: &str| parts.iter().any(|part| part.holds(id));
            for cell in known {
                let part = of(&cell);
                let differs = difference(&part, &cell.results, &whole.results);
                found.extend(differs.map(|how| (*slot, (part, how))));
            }
            let mut rest = Cell::clone(whole);
            rest.results.retain(|r| !held(r.id.as_str()));
            rest.details.retain(|d| !held(&d.id));
            for cell in divided(&rest, &missing) {
                self.memory.keep(self.home, cell)?;
            }
        }
        Ok(found)
    }

    /// A run of gold's in which all parts ran at once is one of the whole.
    pub(super) fn keep_whole(
        &self,
        slot: Slot,
        missing: &Missing,
        mut whole: Cell,
    ) -> Result<(), Stop> {
        if !self.is_gold(slot) || self.whole_gold || missing.len() < self.apart(slot.suite).len() {
            return Ok(());
        }
        let (_, keys) = self.kept_of(slot, vec![Part::default()], &[])?;
        if let Some((_, key)) = keys.into_iter().next() {
            whole.key = key;
            self.memory.keep(self.home, whole)?;
        }
        Ok(())
    }
}

/// A run's cell, divided among its parts. What no part claims (an error of the whole collection) is
/// told once.
pub(super) fn divided(whole: &Cell, parts: &Missing) -> Vec<Cell> {
    let first = parts.first().map(|(part, _)| part);
    let of = |id: &str, part: &Part| {
        part.holds(id) || first == Some(part) && !parts.iter().any(|(part, _)| part.holds(id))
    };
    let cell = |(part, key): &(Part, String)| Cell {
        key: key.clone(),
        file: part.file.clone(),
        function: part.function.clone(),
        results: (whole.results.iter())
            .filter(|r| of(r.id.as_str(), part))
            .cloned()
            .collect(),
        details: (whole.details.iter())
            .filter(|d| of(&d.id, part))
            .cloned()
            .collect(),
        ..whole.clone()
    };
    parts.iter().map(cell).collect()
}

/// How a part's cases come out otherwise alone than among all; the first of them.
fn difference(part: &Part, alone: &[CaseResult], whole: &[CaseResult]) -> Option<String> {
    let of = |results: &[CaseResult]| -> BTreeMap<String, Outcome> {
        let own = results.iter().filter(|r| part.holds(r.id.as_str()));
        own.map(|r| (r.id.as_str().to_owned(), r.outcome)).collect()
    };
    let (alone, whole) = (of(alone), of(whole));
    let ids: BTreeSet<&String> = alone.keys().chain(whole.keys()).collect();
    let name = |all: &BTreeMap<String, Outcome>, id: &str| {
        let outcome = all.get(id).copied().unwrap_or(Outcome::Missing);
        outcome.name()
    };
    let told = |id: &String| {
        let (alone, whole) = (name(&alone, id), name(&whole, id));
        (alone != whole).then(|| format!("{id}: {alone} alone, {whole} among the others"))
    };
    ids.into_iter().find_map(told)
}
