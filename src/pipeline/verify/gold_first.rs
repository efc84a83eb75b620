//! Gold's first run of a suite says what is expected of all others, and whether tests stand for
//! themselves. The others wait for it, unless it is known from before: then they run beside it, and
//! count where it says the same again.

use std::collections::BTreeSet;
use std::path::Path;

use futures_util::{StreamExt, stream};

use super::cells::{Cells, Missing, Slot};
use super::files::Part;
use crate::domain::cell::Cell;
use crate::domain::{CaseResult, Outcome, Phase};
use crate::pipeline::error::Stop;

impl Cells<'_> {
    /// Makes gold's slots known. Where a test that ran alone tells more than of itself (its file
    /// cannot be imported, say), its file is taken as a whole from here on.
    pub async fn fill_gold(&mut self, slots: Vec<Slot>, beside: usize) -> Result<(), Stop> {
        self.fill(slots.clone(), beside).await?;
        self.take_together(slots, beside).await
    }

    /// Makes `first` (gold's first runs) and all others known.
    pub async fn fill_all(
        &mut self,
        first: Vec<Slot>,
        mut others: Vec<Slot>,
        beside: usize,
    ) -> Result<(), Stop> {
        let (mut open, mut known) = (None, Vec::new());
        for slot in first {
            let assumed = open.is_none() && self.assumed.contains_key(&slot.suite);
            if assumed && !self.look_up(slot)?.1.is_empty() {
                open = Some(slot);
            } else {
                known.push(slot);
            }
        }
        self.fill_gold(known, beside).await?;
        if let Some(gold) = open {
            others = self.fill_beside(gold, others, beside).await?;
            self.take_together(vec![gold], beside).await?;
        }
        self.fill(others, beside).await
    }

    /// Gold's first run of a suite, and beside it the others of the suite. What is not known after
    /// that is left over.
    async fn fill_beside(
        &mut self,
        gold: Slot,
        mut others: Vec<Slot>,
        beside: usize,
    ) -> Result<Vec<Slot>, Stop> {
        let assumed = self.assumed.get(&gold.suite).cloned().unwrap_or_default();
        let mut jobs = vec![(gold, self.look_up(gold)?)];
        for slot in others.iter().filter(|slot| slot.suite == gold.suite) {
            let found = self.look_up(*slot)?;
            if !found.1.is_empty() {
                jobs.push((*slot, found));
            }
        }
        let (this, assumed) = (&*self, assumed.as_slice());
        let mut running = stream::iter(jobs)
            .map(|(slot, (known, missing))| async move {
                let expected = (slot != gold).then_some(assumed);
                let cells = this.run(slot, &missing, expected).await?;
                Ok::<_, Stop>((slot, known, missing, cells))
            })
            .buffer_unordered(beside.max(1));
        let (mut early, mut done) = (Vec::new(), Vec::new());
        let mut first: Option<Vec<CaseResult>> = None;
        while let Some(ended) = running.next().await {
            let (slot, known, missing, cells) = ended?;
            if slot == gold {
                let known = this.took(slot, known, cells, None)?;
                let apart = this.strays(gold, &known.results).is_empty();
                first = Some(known.results.clone());
                done.push((slot, known));
                if !apart {
                    break;
                }
            } else {
                early.push((slot, known, missing, cells));
            }
            let Some(first) = &first else { continue };
            for (slot, known, missing, cells) in early.drain(..) {
                if this.same_order(slot, &missing, &cells, (assumed, first)) {
                    done.push((slot, this.took(slot, known, cells, Some(first))?));
                }
            }
        }
        drop(running);
        others.retain(|slot| done.iter().all(|(known, _)| known != slot));
        let ran = done.len();
        self.know(done, ran);
        Ok(others)
    }

    /// Whether a slot is run in the same way by what gold was assumed to come to and by what it did.
    fn same_order(
        &self,
        slot: Slot,
        missing: &Missing,
        cells: &[Cell],
        (assumed, first): (&[CaseResult], &[CaseResult]),
    ) -> bool {
        let of = |gold| self.suite_run(slot, missing, Path::new(""), Some(gold));
        let (before, now) = (of(assumed), of(first));
        // a case's limit goes by gold's slowest: another one is the same where nothing came near it
        let limit = now.case_limit.min(before.case_limit).as_secs_f64();
        let near = |r: &CaseResult| r.outcome == Outcome::Timeout || r.duration_s >= limit;
        let mut results = cells.iter().flat_map(|cell| &cell.results);
        before.expected == now.expected
            && (before.case_limit == now.case_limit || !results.any(near))
    }

    async fn take_together(&mut self, slots: Vec<Slot>, beside: usize) -> Result<(), Stop> {
        let mut again = Vec::new();
        for slot in slots {
            let results = self.known.by_slot.get(&slot);
            let strays = self.strays(slot, results.map_or(&[], Vec::as_slice));
            if !strays.is_empty() {
                let together = self.known.together.entry(slot.suite).or_default();
                together.files.extend(strays);
                self.known.by_slot.remove(&slot);
                again.push(slot);
            }
        }
        self.fill(again, beside).await
    }

    /// Files that are taken apart, and of which something is told that is of no test in them.
    fn strays(&self, slot: Slot, results: &[CaseResult]) -> BTreeSet<String> {
        let parts = self.apart(slot.suite);
        let apart: BTreeSet<&str> = (parts.iter())
            .filter(|p| p.function.is_some())
            .filter_map(|p| p.file.as_deref())
            .collect();
        let strays = results.iter().filter(|r| {
            let collected = r.phase != Phase::Collect || r.outcome == Outcome::Skipped;
            let own = |p: &Part| p.function.is_some() && p.holds(r.id.as_str());
            apart.contains(r.id.file()) && !(collected && parts.iter().any(own))
        });
        strays.map(|r| r.id.file().to_owned()).collect()
    }
}
