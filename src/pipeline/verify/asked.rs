//! What a suite's run is asked for, where some of a slot is known.

use std::path::Path;

use super::cells::{Cells, Missing, Slot};
use crate::domain::{CalibratedCase, CaseResult, CaseRun, SuiteCalibration};
use crate::pipeline::run_suites::suite_run;
use crate::pipeline::suite::SuiteRun;

impl Cells<'_> {
    /// How the missing parts of a slot are run: of a file that is missing as a whole, the file.
    pub(super) fn suite_run(
        &self,
        slot: Slot,
        missing: &Missing,
        record: &Path,
        gold: Option<&[CaseResult]>,
    ) -> SuiteRun {
        let subject = self.candidates[slot.candidate].subject();
        let gold = gold.map(calibration);
        let mut run = suite_run(
            self.ground,
            subject,
            slot.suite,
            gold.as_ref(),
            &[],
            Some(record),
        );
        let all = self.parts(slot);
        if missing.len() < all.len() {
            let of = |file: &Option<String>| all.iter().filter(|p| p.file == *file).count();
            let gone =
                |file: &Option<String>| missing.iter().filter(|(p, _)| p.file == *file).count();
            run.paths.clear();
            for (part, _) in missing {
                let whole = of(&part.file) == gone(&part.file);
                let node = if whole {
                    part.file.clone()
                } else {
                    part.node()
                };
                run.paths
                    .extend(node.filter(|node| !run.paths.contains(node)));
            }
            if let Some(expected) = &mut run.expected {
                expected.retain(|id| missing.iter().any(|(part, _)| part.holds(id.as_str())));
            }
        }
        if let Some(index) = self.index(slot) {
            run.env.insert("VERIFY_RUN_INDEX".into(), index.to_string());
        }
        run
    }
}

/// As far as a suite's run asks gold for it: its cases, and how long they took.
fn calibration(results: &[CaseResult]) -> SuiteCalibration {
    let cases = results.iter().filter_map(|r| {
        let run = CaseRun {
            outcome: r.outcome,
            duration_s: r.duration_s,
        };
        CalibratedCase::of(r.id.clone(), vec![run])
    });
    SuiteCalibration {
        runs: 1,
        cases: cases.collect(),
        ..SuiteCalibration::default()
    }
}
