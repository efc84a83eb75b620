//! The suites' part of a run's state.

use std::collections::{HashMap, HashSet};

use super::run_state::RunState;
use super::{CaseId, CaseResult, Event, Level, Sign, Subject};

/// The cases of one suite on one subject, in the order of collection.
#[derive(Clone, Debug, Default)]
pub struct SuiteState {
    pub order: Vec<CaseId>,
    pub results: HashMap<CaseId, CaseResult>,
    /// Running cases and since when.
    pub running: HashMap<CaseId, f64>,
    /// When cases began and ended, in seconds since the epoch.
    pub times: HashMap<CaseId, (f64, Option<f64>)>,
    pub finished: bool,
    known: HashSet<CaseId>,
}

impl SuiteState {
    fn learn(&mut self, id: &CaseId) {
        if self.known.insert(id.clone()) {
            self.order.push(id.clone());
        }
    }

    /// What ran at a moment, or ended last before it: the case, and how long before it ended.
    pub fn case_at(&self, at_s: f64) -> Option<(&CaseId, f64)> {
        let before = |(id, (begun, ended)): (_, &(f64, Option<f64>))| {
            let since = ended.map_or(0.0, |ended| (at_s - ended).max(0.0));
            (*begun <= at_s).then_some((id, since, *begun))
        };
        let found = self.times.iter().filter_map(before);
        // of two that ran at once the one that began last
        let nearest = found.min_by(|a, b| a.1.total_cmp(&b.1).then(b.2.total_cmp(&a.2)));
        nearest.map(|(id, since, _)| (id, since))
    }

    pub fn passed(&self) -> usize {
        self.results.values().filter(|r| r.outcome.passed()).count()
    }
}

impl RunState {
    /// Folds an event of a suite; others are none of its business.
    pub(super) fn apply_suite(&mut self, at_s: f64, event: &Event) {
        match event {
            Event::Collected {
                subject,
                suite,
                cases,
                ..
            } => {
                let entry = self.suites.entry((*subject, *suite)).or_default();
                for case in cases {
                    entry.learn(case);
                }
            }
            Event::CaseStarted {
                subject, suite, id, ..
            } => {
                let entry = self.suites.entry((*subject, *suite)).or_default();
                entry.running.entry(id.clone()).or_insert(at_s);
                // on several ranks the first tells; one that runs anew has no end yet
                let times = entry.times.entry(id.clone()).or_insert((at_s, None));
                if times.1.is_some() {
                    *times = (at_s, None);
                }
            }
            Event::CaseFinished {
                subject,
                suite,
                result,
            } => {
                let entry = self.suites.entry((*subject, *suite)).or_default();
                entry.running.remove(&result.id);
                entry.learn(&result.id);
                entry.results.insert(result.id.clone(), result.clone());
                let began = at_s - result.duration_s;
                let times = entry.times.entry(result.id.clone());
                times.or_insert((began, None)).1 = Some(at_s);
            }
            Event::Continued {
                suite,
                reason,
                remaining,
                ..
            } => {
                let text = format!("{suite}: {reason}; {remaining} cases go on in a fresh group");
                self.say(at_s, Level::Warn, text);
            }
            Event::SuiteFinished {
                subject,
                suite,
                collected,
                passed,
                duration_s,
                killed,
            } => {
                let entry = self.suites.entry((*subject, *suite)).or_default();
                entry.finished = true;
                entry.running.clear();
                let rest = if *killed > 0 {
                    format!(", {killed} left-over processes killed")
                } else {
                    String::new()
                };
                self.say(
                    at_s,
                    Level::Info,
                    format!(
                        "{suite} ({}): {passed}/{collected} in {duration_s:.2}s{rest}",
                        subject.name()
                    ),
                );
            }
            Event::Twins { suite, run, passed } => {
                self.twins.insert(*suite, (*run, passed.clone()));
                let level = if passed.is_empty() {
                    Level::Info
                } else {
                    Level::Error
                };
                self.say(
                    at_s,
                    level,
                    format!("{suite}: {run} must-fail twins, {} passed", passed.len()),
                );
            }
            Event::Disagreed {
                subject,
                suite,
                rank,
                case,
                detail,
            } => {
                if *subject == Subject::Submission {
                    *self.disagreed.entry(*suite).or_default() += 1;
                }
                let case = case.as_ref().map(|c| format!(" {c}")).unwrap_or_default();
                let text = format!("{suite}: reports disagree (rank {rank}){case}: {detail}");
                self.say(at_s, Level::Warn, text);
            }
            Event::Deviated { suite, evidence } => {
                let text = format!(
                    "{suite}: {}: {}",
                    evidence.weight.name(),
                    evidence.deviation
                );
                self.evidence
                    .entry(*suite)
                    .or_default()
                    .push(evidence.clone());
                self.say(at_s, Level::Error, text);
            }
            _ => {}
        }
    }

    pub(super) fn audited(&mut self, at_s: f64, strong: &[Sign], weak: &[Sign]) {
        for sign in strong {
            self.say(at_s, Level::Error, format!("suspect: {sign}"));
        }
        for sign in weak {
            self.say(at_s, Level::Info, format!("patch: {sign}"));
        }
        self.signs = (strong.to_vec(), weak.to_vec());
    }
}
