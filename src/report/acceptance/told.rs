//! What journals of verify runs tell: for each patch on each suite, the newest cells.

use std::collections::BTreeMap;

use crate::domain::{Event, Record, Stage, Suite};

/// A patch on a suite, once; runs count from 1.
pub type SlotId = (String, Suite, u32);

/// Cells of a slot, and when what they rest on was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    pub keys: Vec<String>,
    pub read_s: f64,
    /// Of the rounds of its run, from 1.
    pub round: u32,
}

/// One run's journal, folded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunTold {
    pub slots: BTreeMap<SlotId, Told>,
    /// A run that stays verifies again and again, each time after an edit.
    pub round: u32,
    pub since_s: f64,
    /// The last round came to a standing, or the run to its end.
    pub complete: bool,
    pub ended: bool,
}

impl RunTold {
    /// The newest of what is told more than once counts.
    pub fn fold<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut told = Self::default();
        for record in records {
            told.apply(record);
        }
        told
    }

    fn apply(&mut self, record: &Record) {
        match &record.event {
            Event::RunStarted { .. }
            | Event::StageStarted {
                stage: Stage::Verify,
                ..
            } => {
                self.round = self.round.max(1);
                self.since_s = record.at_s;
                self.complete = false;
                self.ended = false;
            }
            Event::CellFinished {
                patch,
                suite,
                run,
                cells,
                ..
            } => {
                if self.complete || self.round == 0 {
                    // its files were read just before
                    self.round += 1;
                    self.since_s = record.at_s;
                    self.complete = false;
                }
                let told = Told {
                    keys: cells.clone(),
                    read_s: self.since_s,
                    round: self.round,
                };
                self.slots.insert((patch.clone(), *suite, *run), told);
            }
            Event::Verified { .. } => self.complete = true,
            Event::RunFinished { .. } => {
                self.complete = true;
                self.ended = true;
            }
            _ => {}
        }
    }

    /// Slots of the round that goes on.
    pub fn done(&self) -> usize {
        let own = |told: &&Told| told.round == self.round;
        self.slots.values().filter(own).count()
    }

    /// Whether a slot stands as this run would leave it: of a round that goes on only what it has
    /// told so far does.
    pub fn current(&self, told: &Told) -> bool {
        self.complete || told.round == self.round
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::domain::Standing;

    fn record(at_s: f64, event: Event) -> Record {
        Record {
            v: 1,
            seq: 0,
            at_s,
            event,
        }
    }

    fn cell(at_s: f64, patch: &str, key: &str) -> Record {
        let event = Event::CellFinished {
            patch: patch.into(),
            suite: Suite::Probes,
            run: 1,
            kept: false,
            passed: 1,
            collected: 2,
            duration_s: 0.1,
            cells: vec![key.into()],
        };
        record(at_s, event)
    }

    fn verified(at_s: f64) -> Record {
        let event = Event::Verified {
            standing: Standing::Accepted,
            broken: Vec::new(),
            revise: 0,
            warnings: 0,
        };
        record(at_s, event)
    }

    #[test]
    fn the_newest_cell_counts_and_a_second_round_begins_after_a_standing() {
        let id = |patch: &str| (patch.to_owned(), Suite::Probes, 1);
        let mut records = vec![
            cell(1.0, "gold", "a"),
            cell(2.0, "base", "b"),
            verified(3.0),
            cell(9.0, "base", "c"),
        ];
        let told = RunTold::fold(&records);
        assert_eq!((told.round, told.done(), told.complete), (2, 1, false));
        assert_eq!(told.slots[&id("base")].keys, ["c"]);
        assert!(told.slots[&id("base")].read_s > 8.0);
        // while the round goes on, what it has not told is of before
        assert!(told.current(&told.slots[&id("base")]));
        assert!(!told.current(&told.slots[&id("gold")]));
        records.push(verified(10.0));
        let told = RunTold::fold(&records);
        assert!(told.current(&told.slots[&id("gold")]));
        assert!(told.slots[&id("gold")].read_s < 2.0);
    }

    #[test]
    fn a_journal_from_before_keys_were_told_has_none() {
        let line = r#"{"v":1,"seq":4,"at_s":5.0,"event":"cell_finished","patch":"gold",
            "suite":"official","run":1,"kept":true,"passed":3,"collected":3,"duration_s":0.0}"#;
        let record: Record = serde_json::from_str(line).unwrap();
        let told = RunTold::fold([&record]);
        let only = told.slots.values().next().unwrap();
        assert!(only.keys.is_empty());
    }
}
