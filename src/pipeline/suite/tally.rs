//! A suite over all its groups of processes: what is known, what is settled, what runs next. Pure.

use std::collections::{HashMap, HashSet};

use super::record::Node;
use crate::domain::{CaseId, CaseResult, Deviation, Discrepancy, Outcome, Phase};

/// Discrepancies kept; a flood of them says no more than the first ones.
const ODD_KEPT: usize = 200;
/// Deviations kept of an area, of all groups and ranks together; one process sends fewer. Each area
/// and each place has room of its own: what does not count crowds nothing out that does.
const DEVIATIONS: usize = 2048;
/// ... and of one place in it.
const AT_A_PLACE: usize = 32;
/// Groups that may end by a limit; each costs one.
const HANGS: usize = 20;
/// Groups of any kind.
const GROUPS: usize = 100;

/// A file or folder that could not be collected, or was skipped as a whole.
#[derive(Clone, Debug)]
struct BadNode {
    node: String,
    outcome: Outcome,
    message: String,
    detail_offset: Option<u64>,
    /// Kept out of later groups: its collection ended a group.
    fatal: bool,
}

/// What the next group is to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pub only: Option<Vec<CaseId>>,
    pub files: Option<Vec<String>>,
    pub ignore: Vec<String>,
    /// Cases still to run, as far as they are known.
    pub remaining: usize,
}

#[derive(Debug, Default)]
pub(super) struct Tally {
    expected: Option<Vec<CaseId>>,
    only: Option<Vec<CaseId>>,
    /// All collected, in order.
    pub known: Vec<CaseId>,
    seen: HashSet<CaseId>,
    finals: HashMap<CaseId, CaseResult>,
    nodes: Vec<BadNode>,
    pub odd: Vec<Discrepancy>,
    pub deviations: Vec<Deviation>,
    /// Some group had a complete list.
    listed: bool,
    hangs: usize,
    groups: usize,
    /// Why nothing runs any more.
    closed: Option<(Outcome, Phase, String)>,
}

impl Tally {
    pub fn new(expected: Option<Vec<CaseId>>, only: Option<Vec<CaseId>>) -> Self {
        Self {
            expected,
            only,
            ..Self::default()
        }
    }

    /// Takes a list of collected cases; true when it holds new ones.
    pub fn collected(&mut self, list: &[CaseId]) -> bool {
        self.listed = true;
        let before = self.known.len();
        for id in list {
            if self.seen.insert(id.clone()) {
                self.known.push(id.clone());
            }
        }
        self.known.len() > before
    }

    /// Takes a result; `None` when the case has one already that is no better.
    pub fn settle(&mut self, result: CaseResult) -> Option<CaseResult> {
        if let Some(before) = self.finals.get(&result.id)
            && before.outcome.severity() >= result.outcome.severity()
        {
            return None;
        }
        self.finals.insert(result.id.clone(), result.clone());
        Some(result)
    }

    /// A settled case that cannot be believed any more.
    pub fn taint(&mut self, id: &CaseId, reason: &str) -> Option<CaseResult> {
        let mut result = self.finals.get(id)?.clone();
        result.outcome = result.outcome.worst(Outcome::Error);
        result.message = Some(reason.to_owned());
        self.settle(result)
    }

    pub fn odd(&mut self, discrepancy: Discrepancy) {
        if self.odd.len() < ODD_KEPT {
            self.odd.push(discrepancy);
        }
    }

    /// Once, whichever group and rank showed it first.
    pub fn deviated(&mut self, deviation: Deviation) {
        let of_area = || (self.deviations.iter()).filter(|known| known.area == deviation.area);
        let there = of_area().filter(|known| known.place == deviation.place);
        if of_area().count() < DEVIATIONS
            && there.clone().count() < AT_A_PLACE
            && !there.clone().any(|known| known.same(&deviation))
        {
            self.deviations.push(deviation);
        }
    }

    /// A file or folder whose collection failed or was skipped, told by one rank.
    pub fn node(&mut self, node: &Node, rank_said: &str, detail_offset: Option<u64>) {
        let outcome = match node.o.as_str() {
            "passed" => return,
            "skipped" => Outcome::Skipped,
            _ => Outcome::Error,
        };
        let said = super::fold::first_line(&node.m).unwrap_or_else(|| node.o.clone());
        let message = format!("{rank_said}{said}");
        self.bad_node(&node.id, outcome, message, detail_offset, false);
    }

    /// A file or folder whose collection ended a group.
    pub fn fatal_node(
        &mut self,
        node: &str,
        outcome: Outcome,
        message: String,
        detail: Option<u64>,
    ) {
        self.bad_node(node, outcome, message, detail, true);
    }

    fn bad_node(
        &mut self,
        node: &str,
        outcome: Outcome,
        message: String,
        detail_offset: Option<u64>,
        fatal: bool,
    ) {
        if let Some(known) = self.nodes.iter_mut().find(|n| n.node == node) {
            known.fatal |= fatal;
            if outcome.severity() > known.outcome.severity() {
                known.outcome = outcome;
                known.message = message;
                known.detail_offset = detail_offset;
            }
            return;
        }
        self.nodes.push(BadNode {
            node: node.to_owned(),
            outcome,
            message,
            detail_offset,
            fatal,
        });
    }

    /// Results of the cases that bad nodes cost, as far as they are not settled yet.
    pub fn settle_nodes(&mut self) -> Vec<CaseResult> {
        let mut news = Vec::new();
        for at in 0..self.nodes.len() {
            let node = self.nodes[at].clone();
            let wanted: Vec<CaseId> = self
                .targets()
                .filter(|id| !self.finals.contains_key(*id) && covers(&node.node, id))
                .cloned()
                .collect();
            for id in wanted {
                // what was collected all the same, on another rank or later, will tell by itself
                if !node.fatal && self.seen.contains(&id) {
                    continue;
                }
                let result = result(&id, &node);
                self.finals.insert(id, result.clone());
                news.push(result);
            }
        }
        news
    }

    /// All cases that must get a result.
    fn targets(&self) -> impl Iterator<Item = &CaseId> {
        let expected = self
            .expected
            .iter()
            .flatten()
            .filter(|id| !self.seen.contains(*id));
        let all = self.known.iter().chain(expected);
        let only: Option<HashSet<&CaseId>> = self.only.as_ref().map(|o| o.iter().collect());
        let asked = self.only.iter().flatten().filter(|id| {
            !self.seen.contains(*id) && !self.expected.iter().flatten().any(|e| e == *id)
        });
        all.filter(move |id| only.as_ref().is_none_or(|o| o.contains(*id)))
            .chain(asked)
    }

    fn remaining(&self) -> Vec<CaseId> {
        self.targets()
            .filter(|id| !self.finals.contains_key(*id))
            .cloned()
            .collect()
    }

    pub fn group_started(&mut self) -> u32 {
        self.groups += 1;
        self.groups as u32
    }

    /// Cases that were to run again, and that the new group did not collect.
    pub fn absent(&mut self, asked: Option<&[CaseId]>, agreed: &[CaseId]) -> Vec<CaseResult> {
        let there: HashSet<&CaseId> = agreed.iter().collect();
        let mut news = Vec::new();
        for id in asked.unwrap_or_default() {
            let known = self.seen.contains(id) && !self.finals.contains_key(id);
            if known && !there.contains(id) {
                let result = CaseResult {
                    id: id.clone(),
                    outcome: Outcome::Missing,
                    phase: Phase::Collect,
                    duration_s: 0.0,
                    ranks: Vec::new(),
                    message: Some("collected once, and not again when it was to run".into()),
                    detail_offset: None,
                };
                self.finals.insert(id.clone(), result.clone());
                news.push(result);
            }
        }
        news
    }

    pub fn hung(&mut self) {
        self.hangs += 1;
    }

    /// Ends the suite: what is left gets this outcome and this reason.
    pub fn close(&mut self, outcome: Outcome, phase: Phase, reason: String) {
        self.closed.get_or_insert((outcome, phase, reason));
    }

    /// The next group; `None`: nothing is left to run, or nothing may run any more.
    pub fn plan(&mut self) -> Option<Plan> {
        if self.closed.is_some() {
            return None;
        }
        let ignore: Vec<String> = self
            .nodes
            .iter()
            .filter(|n| n.fatal)
            .map(|n| n.node.clone())
            .collect();
        let remaining = self.remaining();
        if self.groups > 0 {
            let bound = if self.hangs >= HANGS {
                Some(format!("{HANGS} groups of processes ended by a limit"))
            } else if self.groups >= GROUPS {
                Some(format!("{GROUPS} groups of processes ended early"))
            } else {
                None
            };
            if let Some(reason) = bound {
                let reason = format!("not run: {reason} before it");
                self.close(Outcome::Missing, Phase::Collect, reason);
                return None;
            }
        }
        let left = remaining.len();
        if self.listed {
            // what an earlier list did not hold is not there
            let to_run: Vec<CaseId> = remaining
                .into_iter()
                .filter(|id| self.seen.contains(id))
                .collect();
            if to_run.is_empty() {
                return None;
            }
            let mut files: Vec<String> = to_run.iter().map(|id| id.file().to_owned()).collect();
            files.dedup();
            files.sort();
            files.dedup();
            return Some(Plan {
                only: Some(to_run),
                files: Some(files),
                ignore,
                remaining: left,
            });
        }
        // collection never got to its end: everything but what ended it
        if self.groups > 0 && left == 0 && (self.expected.is_some() || self.only.is_some()) {
            return None;
        }
        let files = self.only.as_ref().map(|ids| {
            let mut files: Vec<String> = ids.iter().map(|id| id.file().to_owned()).collect();
            files.sort();
            files.dedup();
            files
        });
        Some(Plan {
            only: self.only.clone(),
            files,
            ignore,
            remaining: left,
        })
    }

    /// The end: everything that has no result yet gets one. Gives those that are new.
    pub fn finish(&mut self) -> Vec<CaseResult> {
        let mut news = self.settle_nodes();
        for id in self.remaining() {
            let (outcome, phase, reason) = match &self.closed {
                Some((outcome, phase, reason)) => (*outcome, *phase, reason.clone()),
                None => (Outcome::Missing, Phase::Collect, "not collected".to_owned()),
            };
            news.push(CaseResult {
                id: id.clone(),
                outcome,
                phase,
                duration_s: 0.0,
                ranks: Vec::new(),
                message: Some(reason),
                detail_offset: None,
            });
        }
        // a failed file of which no case is known: it shows under its own name
        for node in &self.nodes {
            let known = self.targets().any(|id| covers(&node.node, id));
            if !known && node.outcome != Outcome::Skipped {
                let id = CaseId(node.node.clone());
                if !self.finals.contains_key(&id) {
                    news.push(result(&id, node));
                }
            }
        }
        for result in &news {
            self.finals.insert(result.id.clone(), result.clone());
        }
        news
    }

    /// All results: in the order of collection, then the rest by id.
    pub fn results(&mut self) -> Vec<CaseResult> {
        let mut results = Vec::new();
        let order: Vec<CaseId> = self.targets().cloned().collect();
        for id in order {
            results.extend(self.finals.remove(&id));
        }
        let mut rest: Vec<CaseResult> = std::mem::take(&mut self.finals).into_values().collect();
        rest.sort_by(|a, b| a.id.cmp(&b.id));
        results.extend(rest);
        results
    }
}

fn result(id: &CaseId, node: &BadNode) -> CaseResult {
    CaseResult {
        id: id.clone(),
        outcome: node.outcome,
        phase: Phase::Collect,
        duration_s: 0.0,
        ranks: Vec::new(),
        message: Some(node.message.clone()),
        detail_offset: node.detail_offset,
    }
}

/// Whether a case lies in a file, a folder or a class.
fn covers(node: &str, id: &CaseId) -> bool {
    let node = node.strip_suffix("/__init__.py").unwrap_or(node);
    if node.is_empty() || node == "." {
        return true;
    }
    id.0.strip_prefix(node)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || rest.starts_with("::"))
}

#[cfg(test)]
mod tests;
