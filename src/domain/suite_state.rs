//! The suites' part of a run's state.

use std::collections::{HashMap, HashSet};

use super::run_state::RunState;
use super::{CaseId, CaseResult, Event, Level, Subject};

/// The cases of one suite on one subject, in the order of collection.
#[derive(Clone, Debug, Default)]
pub struct SuiteState {
    pub order: Vec<CaseId>,
    pub results: HashMap<CaseId, CaseResult>,
    /// Running cases and since when.
    pub running: HashMap<CaseId, f64>,
    pub finished: bool,
    known: HashSet<CaseId>,
}

impl SuiteState {
    fn learn(&mut self, id: &CaseId) {
        if self.known.insert(id.clone()) {
            self.order.push(id.clone());
        }
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
            _ => {}
        }
    }
}
