//! The parts of the acceptance rule. Attribution never changes them.

use super::conftest::conftest_failure;
use super::evidence::{PatchEvidence, collected, outcomes};
use super::hollow::QUOTED;
use super::matrix::Functions;
use crate::domain::acceptance::{How, PatchRow, Role, Rule, RuleVerdict};
use crate::domain::case::{CaseDetail, Phase};
use crate::domain::{CaseResult, Outcome, Suite};

/// What all rules look at.
pub(super) struct Case<'a> {
    pub gold: &'a PatchEvidence,
    pub hollow: Option<&'a PatchEvidence>,
    /// Stories of hollow's cases.
    pub details: &'a [CaseDetail],
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
            Rule::HollowCollects => self.hollow_collects(),
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
                match row.rejected_by.iter().find(|r| r.function == *function) {
                    None => evidence.push(format!("{function} accepts {}", row.patch)),
                    // nothing of the probe has run: a mere name would do the same
                    Some(r)
                        if role == Role::Hollow && not_collected(r.how, r.message.as_deref()) =>
                    {
                        evidence.push(format!(
                            "{function} has not run on {} ({})",
                            row.patch,
                            r.how.words()
                        ));
                    }
                    Some(_) => {}
                }
            }
        }
        if !seen {
            evidence.push(format!("there is no {} patch", role.name()));
        }
        evidence
    }

    /// What keeps hollow from collecting what gold collects, a line for each file and cause.
    fn hollow_collects(&self) -> Vec<String> {
        let mut evidence: Vec<String> = self.of(Role::Hollow).filter_map(refused).collect();
        let Some(hollow) = self.hollow.filter(|_| evidence.is_empty()) else {
            return evidence;
        };
        for suite in Suite::ALL {
            let of_gold = self.gold.by_case(suite);
            let runs = hollow.by_case(suite);
            let mut broken: Vec<((&str, String), usize)> = Vec::new();
            for id in collected(self.gold, suite) {
                let mut by_gold = of_gold.iter().filter_map(|run| run.get(id));
                // a file that gold cannot import either says nothing of hollow
                if by_gold.any(|r| r.phase == Phase::Collect) {
                    continue;
                }
                let found = runs.iter().find_map(|run| match run.get(id) {
                    None => Some(String::new()),
                    Some(r) if r.phase == Phase::Collect && !not_run(r.message.as_deref()) => {
                        Some(why(r, self.details))
                    }
                    Some(_) => None,
                });
                let Some(why) = found else { continue };
                let file = (id.file(), why);
                match broken.iter_mut().find(|(known, _)| *known == file) {
                    Some((_, cases)) => *cases += 1,
                    None => broken.push((file, 1)),
                }
            }
            evidence.extend(broken.into_iter().map(|((file, why), cases)| {
                let cases = match cases {
                    1 => "1 case".to_owned(),
                    n => format!("{n} cases"),
                };
                let colon = if why.is_empty() { "" } else { ": " };
                format!("{suite}: {cases} of {file} not collected on hollow{colon}{why}")
            }));
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

/// The case was not even there to run.
fn not_collected(how: How, message: Option<&str>) -> bool {
    matches!(how, How::Collection | How::Missing) && !not_run(message)
}

/// The suite had ended before its turn: that tells nothing of its collection.
fn not_run(message: Option<&str>) -> bool {
    message.is_some_and(|m| m.starts_with("not run: "))
}

/// The error that stopped a case's collection, and the place where it was raised.
fn why(result: &CaseResult, details: &[CaseDetail]) -> String {
    let message = result.message.as_deref().unwrap_or_default();
    let first = message.lines().next().unwrap_or_default();
    let mut words: String = first.chars().take(QUOTED).collect();
    let own = |d: &&CaseDetail| d.id == result.id.as_str() || result.id.file() == d.id;
    let frames = details.iter().find(own).map(|d| d.frames.as_slice());
    if let Some(frame) = frames.and_then(<[_]>::last) {
        let place = format!(" ({}:{} in {})", frame.path, frame.line, frame.function);
        words.push_str(&place);
    } else if let Some(failure) = details
        .iter()
        .filter_map(conftest_failure)
        .find(|failure| failure.binds(result.id.file()))
    {
        words.push_str(": ");
        words.push_str(&failure.to_string());
    }
    words
}

fn refused(row: &PatchRow) -> Option<String> {
    let (cause, message) = row.refused.as_ref()?;
    Some(format!(
        "{} cannot be tried ({}): {message}",
        row.patch,
        cause.name()
    ))
}
