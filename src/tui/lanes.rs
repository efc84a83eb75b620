//! Who asks while an answer is under way.
//!
//! Requests fall into lanes. A lane runs one at a time, or two where the first may be about megabytes
//! that nobody looks at any more, and keeps at most one waiting: a newer one takes its place, because
//! only the newest selection matters. What must not be lost (a grade, a cancel) has no lane and runs at
//! once.

use std::collections::HashMap;

use super::effect::Effect;
use crate::domain::RunId;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Lane {
    Tasks,
    Runs,
    Standings,
    Run(RunId),
    Journal(RunId),
    Changes,
    File,
    Detail,
    Excerpt,
    Outcomes,
    Agents,
    Acceptance,
    CellDetail,
    Source,
    AgentLog,
    Outputs,
    Log,
}

impl Lane {
    /// Requests at a time. The answers of a lane with more than one say what they are about: they may
    /// come in any order.
    fn width(&self) -> usize {
        match self {
            Lane::Changes | Lane::File => 2,
            _ => 1,
        }
    }
}

fn lane(effect: &Effect) -> Option<Lane> {
    Some(match effect {
        Effect::LoadTasks => Lane::Tasks,
        Effect::LoadRuns => Lane::Runs,
        Effect::LoadStandings => Lane::Standings,
        Effect::LoadRun(run) => Lane::Run(run.clone()),
        Effect::LoadJournal { run, .. } => Lane::Journal(run.clone()),
        Effect::LoadChanges(_) => Lane::Changes,
        Effect::LoadFile { .. } | Effect::ShowPart { .. } => Lane::File,
        Effect::LoadDetail { .. } => Lane::Detail,
        Effect::LoadExcerpt { .. } => Lane::Excerpt,
        Effect::LoadOutcomes(_) => Lane::Outcomes,
        Effect::LoadAgents(_) => Lane::Agents,
        Effect::LoadAcceptance { .. } => Lane::Acceptance,
        Effect::LoadCellDetail { .. } => Lane::CellDetail,
        Effect::LoadSource { .. } => Lane::Source,
        Effect::FindAgentLog(_) => Lane::AgentLog,
        Effect::LoadOutputs(_) => Lane::Outputs,
        Effect::ReadLog(_) => Lane::Log,
        _ => return None,
    })
}

/// Names the lane that a finished request leaves free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneId(Lane);

/// Requests under way.
#[derive(Default)]
pub(super) struct Lanes {
    /// How many, and the one that waits.
    busy: HashMap<Lane, (usize, Option<Effect>)>,
}

impl Lanes {
    /// The request, where it may begin; else it waits for its lane.
    pub(super) fn enter(&mut self, effect: Effect) -> Option<(Option<LaneId>, Effect)> {
        let Some(lane) = lane(&effect) else {
            return Some((None, effect));
        };
        let (running, waiting) = self.busy.entry(lane.clone()).or_default();
        if *running == lane.width() {
            *waiting = Some(effect);
            return None;
        }
        *running += 1;
        Some((Some(LaneId(lane)), effect))
    }

    /// One has ended; the request that waited, which enters anew.
    pub(super) fn leave(&mut self, LaneId(lane): LaneId) -> Option<Effect> {
        let (running, waiting) = self.busy.get_mut(&lane)?;
        *running -= 1;
        let waiting = waiting.take();
        if *running == 0 {
            self.busy.remove(&lane);
        }
        waiting
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::Source;
    use crate::tui::panes::diff::entries::By;
    use crate::tui::state::Comparison;

    fn changes(task: &str) -> Effect {
        Effect::LoadChanges(Comparison {
            task: task.into(),
            left: Source::Base,
            right: Source::Gold,
            subject: Source::Gold,
            by: By::Path,
        })
    }

    fn name(effect: &Effect) -> &str {
        match effect {
            Effect::LoadChanges(comparison) => &comparison.task,
            _ => "another",
        }
    }

    #[test]
    fn a_slow_comparison_keeps_nobody_waiting_and_of_those_who_wait_the_newest_comes() {
        let mut lanes = Lanes::default();
        let (slow, _) = lanes.enter(changes("slow")).unwrap();
        let (next, effect) = lanes.enter(changes("next")).unwrap();
        assert_eq!(name(&effect), "next");
        for task in ["third", "fourth"] {
            assert!(lanes.enter(changes(task)).is_none());
        }
        let waited = lanes.leave(next.unwrap()).unwrap();
        assert_eq!(name(&waited), "fourth");
        let (fourth, _) = lanes.enter(waited).unwrap();
        assert!(lanes.enter(changes("fifth")).is_none());
        assert!(lanes.leave(slow.unwrap()).is_some());
        assert!(lanes.leave(fourth.unwrap()).is_none());
        assert!(lanes.busy.is_empty());
    }

    #[test]
    fn where_answers_do_not_say_what_they_are_about_one_runs_at_a_time() {
        let mut lanes = Lanes::default();
        let (first, _) = lanes.enter(Effect::LoadTasks).unwrap();
        assert!(lanes.enter(Effect::LoadTasks).is_none());
        assert!(lanes.leave(first.unwrap()).is_some());
        // what must not be lost never waits
        for _ in 0..3 {
            assert!(lanes.enter(Effect::Quit).unwrap().0.is_none());
        }
    }
}
