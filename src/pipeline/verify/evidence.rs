//! What is known of cells, as the rule takes it.

use std::collections::{BTreeMap, BTreeSet};

use super::cells::{Cells, Slot};
use crate::domain::{CaseId, Suite};
use crate::judge::acceptance::{PatchEvidence, SuiteRuns, asserted};
use crate::pipeline::error::Stop;

impl Cells<'_> {
    /// Of every patch, in their order.
    pub fn evidence(&self) -> Result<Vec<PatchEvidence>, Stop> {
        let mut all: Vec<PatchEvidence> = (self.candidates.iter())
            .map(|c| PatchEvidence {
                role: c.role,
                name: c.name.clone(),
                claim: c.claim.clone(),
                refused: c.tree.as_ref().err().cloned(),
                runs: SuiteRuns::new(),
                unasserted: BTreeSet::new(),
            })
            .collect();
        // in the order of the runs
        for (slot, cases) in &self.known.by_slot {
            let evidence = &mut all[slot.candidate];
            let runs = evidence.runs.entry(slot.suite).or_default();
            runs.push(cases.clone());
            if slot.suite == Suite::Probes {
                evidence.unasserted.extend(self.unasserted(*slot)?);
            }
        }
        Ok(all)
    }

    /// Cases of a slot whose stories all end outside of the suites' folders.
    fn unasserted(&self, slot: Slot) -> Result<BTreeSet<CaseId>, Stop> {
        let spec = &self.ground.task.spec.suites;
        let suites: Vec<&str> = (Suite::ALL.iter())
            .filter_map(|suite| Some(spec.get(*suite)?.into.as_str()))
            .collect();
        let mut told: BTreeMap<String, bool> = BTreeMap::new();
        // of each rank there may be one
        for detail in self.details(slot)? {
            let asserted = asserted(&detail, &suites);
            *told.entry(detail.id).or_default() |= asserted;
        }
        let unasserted = told.into_iter().filter(|(_, asserted)| !asserted);
        Ok(unasserted.map(|(id, _)| CaseId(id)).collect())
    }
}
