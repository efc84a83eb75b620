//! How a group of ranks came to its end, and what that costs. Pure.

use std::time::Duration;

use super::fold::{OnRank, detail};
use super::group::Group;
use crate::domain::{CaseId, CaseResult, Outcome, Phase};

/// What the end of a group is put down to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Blame {
    /// Everything ran.
    Nobody,
    /// A case, by its place in the group's list.
    Case(usize),
    /// A case that ran before the ranks had agreed on a list.
    Id(CaseId),
    /// A file or folder in whose collection it happened.
    Node(String),
    /// Collection as a whole: nothing of it can be told apart.
    Collection,
    /// It happened between cases.
    Session,
    /// pytest did not even start: not the submission's doing.
    Environment,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    pub blame: Blame,
    /// The rank that it happened on.
    pub rank: Option<usize>,
    /// `timeout` or `error`.
    pub outcome: Outcome,
    pub reason: String,
}

impl Ending {
    pub fn complete() -> Self {
        Self {
            blame: Blame::Nobody,
            rank: None,
            outcome: Outcome::Passed,
            reason: String::new(),
        }
    }

    pub fn environment(reason: String) -> Self {
        Self {
            blame: Blame::Environment,
            rank: None,
            outcome: Outcome::Error,
            reason,
        }
    }

    /// The reason with its rank, where the group has several.
    pub fn told(&self, ranks: usize) -> String {
        match self.rank {
            Some(rank) if ranks > 1 => format!("rank {rank}: {}", self.reason),
            _ => self.reason.clone(),
        }
    }
}

impl Group {
    /// The end of the group by a limit from outside (the suite's time, the sandbox's memory): put
    /// down to what runs on the rank that is furthest behind.
    pub fn cut_short(&self, outcome: Outcome, reason: String) -> Ending {
        if !self.agreed() && self.number > 1 && outcome == Outcome::Timeout {
            // the cases are known, and have not had their turn
            return Ending {
                blame: Blame::Session,
                rank: None,
                outcome,
                reason,
            };
        }
        if !self.agreed() {
            let rank = self.ranks.iter().position(|r| !r.collected).unwrap_or(0);
            let node = self.ranks[rank].nodes.last().cloned();
            return Ending {
                blame: node.map_or(Blame::Collection, Blame::Node),
                rank: Some(rank),
                outcome,
                reason,
            };
        }
        let running = (0..self.ranks.len())
            .filter_map(|rank| Some((self.running_case(rank)?, rank)))
            .min();
        Ending {
            blame: match running {
                Some((case, _)) => Blame::Case(case),
                None if self.all_settled() => Blame::Nobody,
                None => Blame::Session,
            },
            rank: running.map(|(_, rank)| rank),
            outcome,
            reason,
        }
    }

    /// Settles the case that the end is put down to. What other ranks had under way is dropped:
    /// it runs again.
    pub fn pay(&mut self, ending: &Ending, now: Duration) {
        match &ending.blame {
            Blame::Case(case) if !self.is_settled(*case) => self.pay_with(*case, ending, now),
            // no case ran; but a group that gets nowhere must cost something, or it never ends
            Blame::Session if self.settled_here() == 0 => {
                if let Some(case) = self.first_unsettled() {
                    self.pay_with(case, ending, now);
                }
            }
            Blame::Id(id) => self.settle_alone(CaseResult {
                id: id.clone(),
                outcome: ending.outcome,
                phase: Phase::Call,
                duration_s: 0.0,
                ranks: Vec::new(),
                message: Some(ending.told(self.ranks.len())),
                detail_offset: None,
            }),
            _ => {}
        }
    }

    fn pay_with(&mut self, case: usize, ending: &Ending, now: Duration) {
        let mut by_rank = Vec::new();
        for rank in 0..self.ranks.len() {
            let place = self.place_on(rank, case);
            let finished = place.is_some_and(|p| self.ranks[rank].finished.contains_key(&p));
            if let Some(place) = place.filter(|_| finished) {
                by_rank.push(self.on_rank(rank, place));
                continue;
            }
            let began = place.and_then(|p| self.ranks[rank].began.get(&p).copied());
            let duration_s = began.map_or(0.0, |b| now.saturating_sub(b).as_secs_f64());
            let running = self.running_case(rank) == Some(case);
            let phase = if running {
                self.ranks[rank].phase()
            } else {
                Phase::Setup
            };
            // every rank that is still in the case shares a time-out; a crash is one rank's own
            let own = ending.rank == Some(rank)
                || (running && (ending.outcome == Outcome::Timeout || ending.rank.is_none()));
            let message = match ending.rank {
                _ if own && running => format!("{} (in {})", ending.reason, name(phase)),
                _ if own => ending.reason.clone(),
                Some(other) if running => format!("ended together with rank {other}"),
                _ if running => "ended with the group".into(),
                _ => "had not begun it".into(),
            };
            let mut on = OnRank::cut_off(ending.outcome, phase, duration_s, message);
            let said = self.ranks[rank].stderr_text();
            let internal = self.ranks[rank].internal.clone().unwrap_or_default();
            if own && !(said.is_empty() && internal.is_empty()) {
                let sections = [("stderr".to_owned(), said)];
                on.detail = Some(detail(&internal, &[], &sections));
            }
            by_rank.push(on);
        }
        self.settle(case, by_rank, ending.rank);
    }
}

fn name(phase: Phase) -> &'static str {
    match phase {
        Phase::Collect => "collection",
        Phase::Setup => "setup",
        Phase::Call => "call",
        Phase::Teardown => "teardown",
    }
}
