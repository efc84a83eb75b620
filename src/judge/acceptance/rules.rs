//! The parts of the acceptance rule. Attribution never changes them.

use super::evidence::{PatchEvidence, collected, outcomes};
use super::matrix::Functions;
use crate::domain::acceptance::{PatchRow, Role, Rule, RuleVerdict};
use crate::domain::{Outcome, Suite};

/// What all rules look at.
pub(super) struct Case<'a> {
    pub gold: &'a PatchEvidence,
    pub functions: &'a Functions<'a>,
    pub rows: &'a [PatchRow],
    /// How often gold has to run.
    pub runs: u32,
    /// `|G|` of the official suite: cases that gold passes in every run.
    pub official: usize,
}

impl Case<'_> {
    fn of(&self, role: Role) -> impl Iterator<Item = &PatchRow> {
        self.rows.iter().filter(move |row| row.role == role)
    }

    pub fn judge(&self, rule: Rule) -> RuleVerdict {
        let evidence = match rule {
            Rule::GoldPasses => self.gold_passes(),
            Rule::BaseRejected => self.all_reject(Role::Base),
            Rule::GuardsHold => self.guards_hold(),
            Rule::HollowRejected => self.all_reject(Role::Hollow),
            Rule::AdversarialRejected => self.adversarial_rejected(),
            Rule::AdversarialOfficial => self.adversarial_official(),
            Rule::AlternativesAccepted => self.alternatives_accepted(),
        };
        RuleVerdict {
            rule,
            holds: evidence.is_empty(),
            evidence,
        }
    }

    fn gold_passes(&self) -> Vec<String> {
        let runs = self.gold.by_case(Suite::Probes);
        let mut evidence = Vec::new();
        if runs.len() < self.runs as usize {
            evidence.push(format!("gold ran {} times of {}", runs.len(), self.runs));
        }
        let cases = collected(self.gold, Suite::Probes);
        if cases.is_empty() {
            evidence.push("gold collects no probe".into());
        }
        for id in cases {
            let all: Vec<Outcome> = outcomes(&runs, id).collect();
            if all.iter().any(|o| !o.passed()) {
                let words: Vec<&str> = all.iter().map(|o| o.name()).collect();
                evidence.push(format!("{id}: {}", words.join(", ")));
            }
        }
        let known: Vec<&str> = self.functions.all.iter().map(|(name, _)| *name).collect();
        for declared in self.functions.declared() {
            if !known.contains(&declared) {
                evidence.push(format!("{declared}: gold does not collect it"));
            }
        }
        evidence
    }

    /// Probe functions that do not reject a patch that each must.
    fn all_reject(&self, role: Role) -> Vec<String> {
        let mut evidence = Vec::new();
        let mut seen = false;
        for row in self.of(role) {
            seen = true;
            if let Some(refused) = refused(row) {
                evidence.push(refused);
                continue;
            }
            for (function, _) in self.functions.probes() {
                if !row.rejected_by.iter().any(|r| r.function == *function) {
                    evidence.push(format!("{function} accepts {}", row.patch));
                }
            }
        }
        if !seen {
            evidence.push(format!("there is no {} patch", role.name()));
        }
        evidence
    }

    fn guards_hold(&self) -> Vec<String> {
        let mut evidence = Vec::new();
        for row in self.of(Role::Base) {
            for (guard, _) in self.functions.guards() {
                if let Some(r) = row.rejected_by.iter().find(|r| r.function == *guard) {
                    evidence.push(format!("{guard} does not pass on base ({})", r.how.words()));
                }
            }
        }
        evidence
    }

    fn adversarial_rejected(&self) -> Vec<String> {
        let rejects = |row: &PatchRow| {
            let counts = |function: &str| !self.functions.guard(function);
            row.rejected_by.iter().any(|r| counts(&r.function))
        };
        self.of(Role::Adversarial)
            .filter_map(|row| match refused(row) {
                Some(refused) => Some(refused),
                None if rejects(row) => None,
                None => Some(format!("no probe rejects {}", row.patch)),
            })
            .collect()
    }

    fn adversarial_official(&self) -> Vec<String> {
        self.of(Role::Adversarial)
            .filter(|row| row.refused.is_none() && row.official.passed < self.official)
            .map(|row| self.below(row))
            .collect()
    }

    fn alternatives_accepted(&self) -> Vec<String> {
        let mut evidence = Vec::new();
        for row in self.of(Role::Alternative) {
            if let Some(refused) = refused(row) {
                evidence.push(refused);
                continue;
            }
            for r in &row.rejected_by {
                evidence.push(format!(
                    "{} rejects {} ({})",
                    r.function,
                    row.patch,
                    r.how.words()
                ));
            }
            if row.official.passed < self.official {
                evidence.push(self.below(row));
            }
        }
        evidence
    }

    fn below(&self, row: &PatchRow) -> String {
        format!(
            "{} passes {} official cases, gold {}",
            row.patch, row.official.passed, self.official
        )
    }
}

fn refused(row: &PatchRow) -> Option<String> {
    let (cause, message) = row.refused.as_ref()?;
    Some(format!(
        "{} cannot be tried ({}): {message}",
        row.patch,
        cause.name()
    ))
}
