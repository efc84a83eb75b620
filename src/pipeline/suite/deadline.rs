//! When a group must end, and how it came to that. Pure.
//!
//! A case's limit runs from its start on the slowest rank, so the rank that is furthest behind
//! says what the group waits for.

use std::time::Duration;

use super::ending::{Blame, Ending};
use super::group::{Group, words};
use super::rank::{Doing, Rank};
use crate::domain::Outcome;

/// After its session's end a process may take this long to be gone.
const LAST_STEPS: Duration = Duration::from_secs(2);
/// A case that failed on one rank gives the others this long at least.
const STRAGGLERS: Duration = Duration::from_secs(5);

/// What the deadline is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    Collection,
    Case(usize),
    Stragglers(usize),
    Exit,
}

impl Group {
    /// When the group has taken too long, if nothing is heard until then; and what for.
    pub fn deadline(&self) -> (Duration, Wait) {
        if self.ranks.iter().all(Rank::over) {
            // sessions are over, processes are still there
            let last = self
                .ranks
                .iter()
                .map(|r| r.heard)
                .max()
                .unwrap_or(self.began);
            return (last + LAST_STEPS, Wait::Exit);
        }
        if !self.agreed {
            return (self.began + self.limits.collect, Wait::Collection);
        }
        let behind = (0..self.ranks.len())
            .filter(|rank| !self.ranks[*rank].over())
            .map(|rank| self.position(rank))
            .min()
            .unwrap_or(self.cases.len());
        let mut clock = Duration::ZERO;
        let mut straggling: Option<Duration> = None;
        for rank in 0..self.ranks.len() {
            let of = &self.ranks[rank];
            let place = (behind < self.cases.len())
                .then(|| self.place_on(rank, behind))
                .flatten();
            if let Some(began) = place.and_then(|p| of.began.get(&p)) {
                clock = clock.max(*began);
                let failed = place.and_then(|p| {
                    let bad = of.reports.get(&p)?.iter().any(|r| r.o == "failed");
                    Some(*of.finished.get(&p)?).filter(|_| bad)
                });
                if let Some(at) = failed {
                    let patience = STRAGGLERS.max(2 * at.saturating_sub(*began));
                    let until = at + patience;
                    straggling = Some(straggling.map_or(until, |s| s.min(until)));
                }
            } else if of.doing == Doing::Idle && !of.over() {
                clock = clock.max(of.heard);
            }
        }
        let full = clock + self.limits.case;
        match straggling {
            // it has failed already: what is left to learn is not worth the whole limit
            Some(until) if until.max(clock + STRAGGLERS) < full => {
                (until.max(clock + STRAGGLERS), Wait::Stragglers(behind))
            }
            _ => (full, Wait::Case(behind)),
        }
    }

    /// Whether the group is at its end, and how it came to that.
    pub fn ending(&self, now: Duration) -> Option<Ending> {
        let exited = self.ranks.iter().all(|r| r.status.is_some());
        let complete = self.all_settled() && self.ranks.iter().all(|r| r.ended.is_some());
        if complete && exited {
            return Some(Ending::complete());
        }
        if let Some(rank) = self.out_of_step.filter(|_| !self.all_settled()) {
            return Some(Ending {
                blame: Blame::Session,
                rank: Some(rank),
                outcome: Outcome::Error,
                reason: "failed a case that another rank passed: they may be out of step".into(),
            });
        }
        if !complete && let Some(ending) = self.broken_off() {
            return Some(ending);
        }
        let (deadline, wait) = self.deadline();
        if now < deadline {
            return None;
        }
        if complete {
            return Some(Ending::complete());
        }
        Some(self.too_late(wait))
    }

    /// A rank that ended although it had cases to run.
    fn broken_off(&self) -> Option<Ending> {
        // a rank that ended in mid-case explains more than one that ended for want of company
        let ended = |rank: &usize| {
            let of = &self.ranks[*rank];
            of.over()
                && if self.agreed {
                    self.position(*rank) < self.cases.len()
                } else {
                    !of.collected || of.running().is_some() || of.finished.len() < of.selected
                }
        };
        let rank = (0..self.ranks.len())
            .filter(ended)
            .min_by_key(|rank| self.ranks[*rank].running().is_none())
            // all is settled, but a process ended without the end of its session
            .or_else(|| {
                (0..self.ranks.len()).find(|r| {
                    let of = &self.ranks[*r];
                    of.status.is_some() && of.ended.is_none()
                })
            })?;
        let of = &self.ranks[rank];
        let how = self.how_it_ended(rank);
        let blame = if let Some(m) = &of.fault {
            return Some(Ending::environment(m.clone()));
        } else if of.versions.is_none() {
            return Some(Ending::environment(format!(
                "pytest did not start: {how}: {}",
                of.stderr_text()
            )));
        } else if !of.collected {
            of.nodes
                .last()
                .map_or(Blame::Collection, |n| Blame::Node(n.clone()))
        } else if let Some(case) = self.running_case(rank) {
            Blame::Case(case)
        } else if !self.agreed {
            // it ran on its own, ahead of the others, and ended in or between cases
            of.running()
                .and_then(|p| of.list.get(p))
                .map_or(Blame::Session, |id| Blame::Id(id.clone()))
        } else if self.all_settled() {
            Blame::Nobody
        } else {
            Blame::Session
        };
        Some(Ending {
            blame,
            rank: Some(rank),
            outcome: Outcome::Error,
            reason: how,
        })
    }

    fn how_it_ended(&self, rank: usize) -> String {
        let of = &self.ranks[rank];
        let after = match (&of.last_words, of.ended, of.status) {
            (Some(m), ..) => m.clone(),
            (None, Some(code), _) => format!("the session ended early, with code {code}"),
            (None, None, Some(status)) => format!("its process {}", words(status)),
            (None, None, None) => "it ended".into(),
        };
        super::fold::first_line(&after).unwrap_or_default()
    }

    fn too_late(&self, wait: Wait) -> Ending {
        let case_s = self.limits.case.as_secs_f64();
        match wait {
            Wait::Collection => {
                let rank = self.ranks.iter().position(|r| !r.collected).unwrap_or(0);
                let of = &self.ranks[rank];
                let limit = self.limits.collect.as_secs_f64();
                if of.versions.is_none() {
                    return Ending::environment(format!(
                        "pytest did not start within {limit:.0} s: {}",
                        of.stderr_text()
                    ));
                }
                Ending {
                    blame: of
                        .nodes
                        .last()
                        .map_or(Blame::Collection, |n| Blame::Node(n.clone())),
                    rank: Some(rank),
                    outcome: Outcome::Timeout,
                    reason: format!("its collection did not end within {limit:.0} s"),
                }
            }
            Wait::Case(case) if case < self.cases.len() => {
                let rank = (0..self.ranks.len())
                    .find(|r| !self.ranks[*r].over() && self.position(*r) == case);
                Ending {
                    blame: Blame::Case(case),
                    rank,
                    outcome: Outcome::Timeout,
                    reason: format!("no end within {case_s:.0} s"),
                }
            }
            // the case has failed, and that its other ranks wait for the one that did is a part of it
            Wait::Stragglers(case) => Ending {
                blame: Blame::Case(case),
                rank: None,
                outcome: Outcome::Failed,
                reason: "still at it when another rank had failed".into(),
            },
            // after the last case
            Wait::Case(_) | Wait::Exit => Ending {
                blame: if self.all_settled() {
                    Blame::Nobody
                } else {
                    Blame::Session
                },
                rank: (0..self.ranks.len()).find(|r| !self.ranks[*r].over()),
                outcome: Outcome::Timeout,
                reason: format!("the session did not end within {case_s:.0} s after its last case"),
            },
        }
    }
}
