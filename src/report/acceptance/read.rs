//! From a home: journals of the newest verify runs, the cells that they name, the record.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use serde::Deserialize;

use super::changed::changed_since;
use super::matrix::{Known, Matrix, Progress, Tried};
use super::told::{RunTold, SlotId, Told};
use crate::domain::case::CaseDetail;
use crate::domain::cell::CELL_VERSION;
use crate::domain::{CaseResult, RunId, Task, Work};
use crate::pipeline::{Freshness, freshness};
use crate::store::{
    Home, Lock, StoreError, kept_cell, made_acceptance, read_records, recorded_acceptance,
};

/// Runs that are read for what the newest one does not tell.
const RUNS: usize = 4;

/// Reads matrices; keeps what it has read of cells, which seldom change.
pub struct Reader {
    home: Home,
    cells: Mutex<HashMap<String, Written>>,
}

/// A cell's results, and when its file was written.
type Written = (SystemTime, Arc<Vec<CaseResult>>);

/// A cell without its stories.
#[derive(Deserialize)]
struct Brief {
    schema: u32,
    key: String,
    results: Vec<CaseResult>,
}

impl Reader {
    pub fn new(home: Home) -> Self {
        Self {
            home,
            cells: Mutex::default(),
        }
    }

    /// The matrix of a task; `runs`: its verify runs, newest first.
    pub fn matrix(&self, task: &Task, runs: &[RunId]) -> Result<Matrix, StoreError> {
        let mut tried: BTreeMap<SlotId, Tried> = BTreeMap::new();
        let (mut live, mut made, mut gold_runs) = (None, None, None);
        for (at, id) in runs.iter().take(RUNS).enumerate() {
            let run = self.home.run(id);
            let Ok(records) = read_records(&run.journal_path()) else {
                continue;
            };
            if let (None, Ok(manifest)) = (gold_runs, run.manifest())
                && let Work::Verify { runs, .. } = manifest.work
            {
                gold_runs = Some(runs);
            }
            let told = RunTold::fold(&records);
            let newest = at == 0;
            if newest && !told.ended && Lock::is_held(&run.lock_path()) {
                live = Some(Progress {
                    run: id.clone(),
                    done: told.done(),
                    total: 0,
                    again: told.round > 1,
                    since_s: told.since_s,
                    rests: told.complete,
                });
            }
            if made.is_none() {
                made = made_acceptance(&run).ok();
            }
            for (slot, own) in &told.slots {
                let known = || self.tried(own, newest && (live.is_none() || told.current(own)));
                // a newer run counts more; of one without keys nothing can be shown
                if !tried.contains_key(slot)
                    && let Some(known) = known()
                {
                    tried.insert(slot.clone(), known);
                }
            }
        }
        let spec = &task.spec;
        let own = |(patch, suite, _): &SlotId| {
            let listed = |prefix: &str, name: &str| patch.strip_prefix(prefix) == Some(name);
            let adversarial = spec.adversarial.iter();
            let alternative = spec.alternative.iter();
            spec.suites.get(*suite).is_some()
                && (matches!(patch.as_str(), "gold" | "base" | "hollow")
                    || adversarial
                        .into_iter()
                        .any(|a| listed("adversarial/", &a.name))
                    || alternative
                        .into_iter()
                        .any(|a| listed("alternative/", &a.name)))
        };
        let recorded = recorded_acceptance(task);
        let newer = |made: &crate::domain::Acceptance| {
            let before = recorded.as_ref();
            before.is_none_or(|recorded| recorded.created_s < made.created_s)
        };
        let recorded = made.filter(newer).or_else(|| recorded.clone());
        let runs = gold_runs.or(recorded.as_ref().map(|r| r.runs)).unwrap_or(3);
        tried.retain(|slot, _| own(slot) && slot.2 <= runs);
        let freshness = match &live {
            // what it rests on is looked at when the run is over
            Some(progress) if !progress.rests => Freshness::Unverified,
            _ => freshness(task),
        };
        if let Some(progress) = &mut live {
            progress.total = Matrix::slots(spec, runs);
        }
        let oldest = if tried.is_empty() {
            recorded.as_ref().map(|r| r.created_s)
        } else {
            tried.values().map(|t| t.read_s).reduce(f64::min)
        };
        let at_work = live.as_ref().is_some_and(|progress| !progress.rests);
        let changed = match (freshness, oldest) {
            (Freshness::Stale(_) | Freshness::Edited(_) | Freshness::Unverified, Some(since_s))
                if !at_work =>
            {
                changed_since(task, since_s)
            }
            _ => Vec::new(),
        };
        Ok(Matrix::new(
            task,
            Known {
                runs,
                tried,
                recorded,
                freshness,
                live,
                changed,
            },
        ))
    }

    /// The long story of a case in a cell; `None`: it passed, or the cell is gone.
    pub fn detail(&self, key: &str, case: &str) -> Option<CaseDetail> {
        let cell = kept_cell(&self.home, key)?;
        cell.details.into_iter().find(|detail| detail.id == case)
    }

    /// The cells of a slot, where all are there.
    fn tried(&self, told: &Told, current: bool) -> Option<Tried> {
        if told.keys.is_empty() {
            return None;
        }
        let mut cells = (told.keys.iter())
            .map(|key| Some((key.clone(), self.cell(key)?)))
            .collect::<Option<Vec<_>>>()?;
        // what ran again is told last, and stands where it always did
        cells.sort_by(|(_, a), (_, b)| {
            let file = |results: &[CaseResult]| results.first().map(|r| r.id.file().to_owned());
            file(a).cmp(&file(b))
        });
        Some(Tried {
            cells,
            read_s: told.read_s,
            current,
        })
    }

    fn cell(&self, key: &str) -> Option<Arc<Vec<CaseResult>>> {
        let plain = key.len() == 64 && key.bytes().all(|b| b.is_ascii_hexdigit());
        if !plain {
            return None;
        }
        let path = self.home.cell(key);
        // one that ran again is written anew
        let written = std::fs::metadata(&path).ok()?.modified().ok()?;
        let mut known = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, results)) = known.get(key)
            && *at == written
        {
            return Some(Arc::clone(results));
        }
        let text = std::fs::read(&path).ok()?;
        let brief: Brief = serde_json::from_slice(&text).ok()?;
        if brief.schema != CELL_VERSION || brief.key != key {
            return None;
        }
        let results = Arc::new(brief.results);
        known.insert(key.to_owned(), (written, Arc::clone(&results)));
        Some(results)
    }
}
