//! A group of ranks that run the same cases side by side, folded into one story. Pure: bytes,
//! exits and the time come in; settled cases and the reason of the end come out.
//!
//! Ranks begin each case together (`Step` in the reporter), as long as nobody inside tampers with
//! that; within a case they are not in step. A case is settled when it ended on every rank; its limit runs from its
//! start on the slowest rank (`deadline`).

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::fold::{OnRank, fold_phases, fold_ranks};
use super::rank::{Heard, Rank};
use super::record::Node;
use crate::domain::case::CaseDetail;
use crate::domain::{CaseId, CaseResult, Deviation, Discrepancy, DiscrepancyKind, Outcome, Phase};
use crate::engine::ProcessStatus;

/// What a group may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupLimits {
    /// From the start of the group until every rank has its list of cases.
    pub collect: Duration,
    pub case: Duration,
    /// End when a case failed on some ranks only.
    pub keep_step: bool,
}

/// News from the group.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Told {
    /// Rank 0 has its list.
    Collected(Vec<CaseId>),
    /// Every rank has its list, and it is this one.
    Agreed(Vec<CaseId>),
    Started {
        id: CaseId,
        rank: u32,
    },
    Settled {
        result: CaseResult,
        details: Vec<CaseDetail>,
    },
    Node {
        rank: u32,
        node: Node,
    },
    /// A case that was settled before cannot be believed.
    Tainted {
        id: CaseId,
        reason: String,
    },
    Odd(Discrepancy),
    Deviated(Deviation),
    /// Options of the project's configuration that were set aside.
    Aside(Vec<String>),
}

#[derive(Debug)]
pub(super) struct Group {
    pub number: u32,
    pub ranks: Vec<Rank>,
    pub(super) limits: GroupLimits,
    pub(super) began: Duration,
    /// The cases that run, in rank 0's order; known when every rank has its list.
    pub(super) cases: Vec<CaseId>,
    /// By rank: from a place in its list to a place in `cases`.
    places: Vec<Vec<Option<usize>>>,
    /// By rank: from a place in `cases` to a place in its list.
    own_places: Vec<Vec<usize>>,
    /// By rank: all cases before this one are settled or finished there.
    passed_by: Vec<usize>,
    settled: Vec<bool>,
    unsettled: usize,
    /// Cases settled in this group.
    here: usize,
    pub(super) agreed: bool,
    /// A case failed on some ranks only, and the group must end: a rank that left the case early
    /// may be one collective ahead, and the cases after it would answer for that.
    pub(super) out_of_step: Option<usize>,
    /// The ids to run; none: all.
    only: Option<HashSet<CaseId>>,
    asked: Option<Vec<CaseId>>,
    told: Vec<Told>,
}

impl Group {
    pub fn new(
        number: u32,
        nonces: Vec<String>,
        only: Option<&[CaseId]>,
        limits: GroupLimits,
        now: Duration,
    ) -> Self {
        Self {
            number,
            ranks: nonces.into_iter().map(|n| Rank::new(n, now)).collect(),
            limits,
            began: now,
            cases: Vec::new(),
            places: Vec::new(),
            own_places: Vec::new(),
            passed_by: Vec::new(),
            settled: Vec::new(),
            unsettled: 0,
            here: 0,
            agreed: false,
            out_of_step: None,
            only: only.map(|ids| ids.iter().cloned().collect()),
            asked: only.map(<[CaseId]>::to_vec),
            told: Vec::new(),
        }
    }

    pub fn take_told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told)
    }

    /// The ids that were asked for; none: all.
    pub fn only(&self) -> Option<&[CaseId]> {
        self.asked.as_deref()
    }

    pub fn agreed(&self) -> bool {
        self.agreed
    }

    pub fn channel(&mut self, rank: usize, bytes: &[u8], now: Duration) {
        let heard = self.ranks[rank].channel(bytes, now);
        self.heard(rank, heard);
    }

    pub fn exited(&mut self, rank: usize, status: ProcessStatus, now: Duration) {
        let heard = self.ranks[rank].channel_ended(now);
        self.heard(rank, heard);
        self.ranks[rank].status = Some(status);
        if let Some(code) = self.ranks[rank].ended
            && status != ProcessStatus::Exited(code & 0xFF)
            // killed after its last word: that was us, and no story of its own
            && status != ProcessStatus::Signaled(9)
        {
            let detail = format!(
                "pytest ended with code {code}, its process {}",
                words(status)
            );
            self.odd(DiscrepancyKind::ExitCode, rank, None, detail);
        }
    }

    fn odd(&mut self, kind: DiscrepancyKind, rank: usize, case: Option<CaseId>, detail: String) {
        self.told.push(Told::Odd(Discrepancy {
            kind,
            group: self.number,
            rank: rank as u32,
            case,
            detail,
        }));
    }

    fn heard(&mut self, rank: usize, heard: Vec<Heard>) {
        for one in heard {
            match one {
                Heard::Collected { selected } => self.collected(rank, selected),
                Heard::Node(node) => self.told.push(Told::Node {
                    rank: rank as u32,
                    node,
                }),
                Heard::Started(place) => self.started(rank, place),
                Heard::Again(place) => self.told.push(Told::Tainted {
                    id: self.ranks[rank].list[place].clone(),
                    reason: "it ran twice on one rank".into(),
                }),
                Heard::Finished(place) => {
                    if self.agreed
                        && let Some(case) = self.places[rank][place]
                    {
                        self.pass_by(rank);
                        self.settle_if_done(case);
                    }
                }
                Heard::Ended { aside } if !aside.is_empty() && rank == 0 => {
                    self.told.push(Told::Aside(aside));
                }
                Heard::Ended { .. } => {}
                Heard::Deviated(deviation) => self.told.push(Told::Deviated(deviation)),
                Heard::Odd {
                    kind,
                    place,
                    detail,
                } => {
                    let case = place.and_then(|p| self.ranks[rank].list.get(p).cloned());
                    self.odd(kind, rank, case, detail);
                }
            }
        }
    }

    fn started(&mut self, rank: usize, place: usize) {
        let id = self.ranks[rank].list[place].clone();
        if self.only.as_ref().is_some_and(|only| !only.contains(&id)) {
            let detail = "a case ran that was not asked for".to_owned();
            self.odd(DiscrepancyKind::NotCollected, rank, Some(id), detail);
            return;
        }
        self.told.push(Told::Started {
            id,
            rank: rank as u32,
        });
    }

    fn collected(&mut self, rank: usize, selected: usize) {
        let wanted = |id: &CaseId| self.only.as_ref().is_none_or(|only| only.contains(id));
        let list: Vec<CaseId> = self.ranks[rank]
            .list
            .iter()
            .filter(|id| wanted(id))
            .cloned()
            .collect();
        self.ranks[rank].selected = selected;
        if list.len() != selected {
            let detail = format!("{selected} cases selected where {} were meant", list.len());
            self.odd(DiscrepancyKind::RanksDiffer, rank, None, detail);
        }
        if rank == 0 {
            self.told.push(Told::Collected(self.ranks[0].list.clone()));
        }
        if self.ranks.iter().all(|r| r.collected) {
            self.agree();
        }
    }

    /// Every rank has its list: the cases on all of them run; the others are errors.
    fn agree(&mut self) {
        let only = self.only.clone();
        let wanted = |id: &CaseId| only.as_ref().is_none_or(|only| only.contains(id));
        let lists: Vec<HashMap<CaseId, usize>> = self
            .ranks
            .iter()
            .map(|r| r.list.iter().cloned().zip(0..).collect())
            .collect();
        let mut lonely: Vec<(CaseId, usize)> = Vec::new();
        for (rank, list) in self.ranks.iter().enumerate() {
            for id in list.list.iter().filter(|id| wanted(id)) {
                if let Some(without) = lists.iter().position(|l| !l.contains_key(id)) {
                    if !lonely.iter().any(|(known, _)| known == id) {
                        lonely.push((id.clone(), without));
                    }
                } else if rank == 0 {
                    self.cases.push(id.clone());
                }
            }
        }
        let index: HashMap<&CaseId, usize> = self.cases.iter().zip(0..).collect();
        self.places = self
            .ranks
            .iter()
            .map(|r| r.list.iter().map(|id| index.get(id).copied()).collect())
            .collect();
        self.own_places = lists
            .iter()
            .map(|list| self.cases.iter().map(|id| list[id]).collect())
            .collect();
        self.passed_by = vec![0; self.ranks.len()];
        self.settled = vec![false; self.cases.len()];
        self.unsettled = self.cases.len();
        self.agreed = true;
        for rank in 1..self.ranks.len() {
            let order = self.places[rank].iter().flatten();
            if !order.copied().eq(0..self.cases.len()) {
                let detail = "the same cases in another order than on rank 0".to_owned();
                self.odd(DiscrepancyKind::RanksDiffer, rank, None, detail);
            }
        }
        for (id, without) in lonely {
            let reason = format!("rank {without}: did not collect it, another rank did");
            self.odd(
                DiscrepancyKind::RanksDiffer,
                without,
                Some(id.clone()),
                reason.clone(),
            );
            self.settle_alone(CaseResult {
                id,
                outcome: Outcome::Error,
                phase: Phase::Collect,
                duration_s: 0.0,
                ranks: Vec::new(),
                message: Some(reason),
                detail_offset: None,
            });
        }
        self.told.push(Told::Agreed(self.cases.clone()));
        for rank in 0..self.ranks.len() {
            self.pass_by(rank);
        }
        for case in 0..self.cases.len() {
            self.settle_if_done(case);
        }
    }

    /// Where `case` stands in a rank's own list.
    pub(super) fn place_on(&self, rank: usize, case: usize) -> Option<usize> {
        self.own_places.get(rank)?.get(case).copied()
    }

    /// Settles a case that is not in the list that the ranks agreed on.
    pub(super) fn settle_alone(&mut self, result: CaseResult) {
        self.here += 1;
        self.told.push(Told::Settled {
            result,
            details: Vec::new(),
        });
    }

    pub(super) fn settled_here(&self) -> usize {
        self.here
    }

    fn settle_if_done(&mut self, case: usize) {
        if self.out_of_step.is_some() {
            return;
        }
        let places: Option<Vec<usize>> = (0..self.ranks.len())
            .map(|rank| {
                let place = self.place_on(rank, case)?;
                self.ranks[rank]
                    .finished
                    .contains_key(&place)
                    .then_some(place)
            })
            .collect();
        if let Some(places) = places
            && !self.settled[case]
        {
            let by_rank: Vec<OnRank> = (0..)
                .zip(places)
                .map(|(rank, place)| self.on_rank(rank, place))
                .collect();
            let bad = |on: &OnRank| matches!(on.outcome, Outcome::Failed | Outcome::Error);
            let mixed = by_rank.iter().any(bad) && !by_rank.iter().all(bad);
            if mixed && self.limits.keep_step {
                self.out_of_step = by_rank.iter().position(bad);
            }
            self.settle(case, by_rank, None);
        }
    }

    /// What a rank that finished a case says of it.
    pub(super) fn on_rank(&mut self, rank: usize, place: usize) -> OnRank {
        let reports = self.ranks[rank].reports.remove(&place).unwrap_or_default();
        let taint = self.ranks[rank].tainted.get(&place).cloned();
        match (fold_phases(&reports), taint) {
            (Ok(on), None) => on,
            (Ok(on), Some(reason)) => OnRank {
                outcome: on.outcome.worst(Outcome::Error),
                message: Some(reason),
                ..on
            },
            (Err(reason), _) => {
                let id = self.ranks[rank].list.get(place).cloned();
                self.odd(DiscrepancyKind::Unreported, rank, id, reason.clone());
                OnRank::cut_off(Outcome::Error, Phase::Call, 0.0, reason)
            }
        }
    }

    /// `blamed`: the rank whose words come first among equals.
    pub(super) fn settle(&mut self, case: usize, by_rank: Vec<OnRank>, blamed: Option<usize>) {
        self.settled[case] = true;
        self.unsettled -= 1;
        self.here += 1;
        for rank in 0..self.ranks.len() {
            if let Some(place) = self.place_on(rank, case) {
                self.ranks[rank].began.remove(&place);
                self.ranks[rank].reports.remove(&place);
            }
        }
        let (result, details) = fold_ranks(&self.cases[case], by_rank, blamed);
        self.told.push(Told::Settled { result, details });
        for rank in 0..self.ranks.len() {
            self.pass_by(rank);
        }
    }

    /// Moves a rank's mark over what is settled or finished there.
    fn pass_by(&mut self, rank: usize) {
        while let Some(settled) = self.settled.get(self.passed_by[rank])
            && (*settled
                || self
                    .place_on(rank, self.passed_by[rank])
                    .is_some_and(|place| self.ranks[rank].finished.contains_key(&place)))
        {
            self.passed_by[rank] += 1;
        }
    }

    pub(super) fn is_settled(&self, case: usize) -> bool {
        self.settled[case]
    }

    pub(super) fn all_settled(&self) -> bool {
        self.agreed && self.unsettled == 0
    }

    pub(super) fn first_unsettled(&self) -> Option<usize> {
        self.settled.iter().position(|s| !s)
    }

    /// The place in `cases` that a rank is at: the case that it runs, or the next one after those
    /// that it has finished.
    pub(super) fn position(&self, rank: usize) -> usize {
        if let Some(case) = self.running_case(rank) {
            return case;
        }
        self.passed_by[rank]
    }

    pub(super) fn running_case(&self, rank: usize) -> Option<usize> {
        let place = self.ranks[rank].running()?;
        *self.places.get(rank)?.get(place)?
    }
}

/// How a process ended, in words.
pub(super) fn words(status: ProcessStatus) -> String {
    match status {
        ProcessStatus::Exited(code) => format!("exited with status {code}"),
        ProcessStatus::Signaled(signal) => {
            let name = nix::sys::signal::Signal::try_from(signal)
                .map_or_else(|_| format!("signal {signal}"), |s| s.as_str().to_owned());
            format!("was killed by {name}")
        }
    }
}
