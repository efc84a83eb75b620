//! The workers of a home's live runs, found without asking for a lock: a look must not stand in
//! the way of a worker that starts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::proc;
use super::snapshot::WorkerProcess;
use crate::store::RunDir;

/// A worker as its journal names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Named {
    pid: u32,
    start: u64,
}

/// Remembers what it read: a journal is folded again only when its worker is gone and it grew.
pub(super) struct Finder {
    proc: PathBuf,
    runs: PathBuf,
    known: BTreeMap<String, (u64, Option<Named>)>,
}

impl Finder {
    pub fn new(proc: &Path, home: &Path) -> Self {
        Self {
            proc: proc.to_path_buf(),
            runs: home.join("runs"),
            known: BTreeMap::new(),
        }
    }

    pub fn find(&mut self) -> Vec<WorkerProcess> {
        let before = std::mem::take(&mut self.known);
        let mut workers = Vec::new();
        for entry in std::fs::read_dir(&self.runs)
            .into_iter()
            .flatten()
            .flatten()
        {
            let run = RunDir::at(entry.path());
            // a finished run keeps a summary
            if run.summary_path().exists() {
                continue;
            }
            let Ok(journal) = std::fs::metadata(run.journal_path()) else {
                continue;
            };
            let id = run.id().0;
            let (read, mut named) = before.get(&id).copied().unwrap_or((0, None));
            if read != journal.len() && !named.is_some_and(|named| self.lives(named)) {
                named = run
                    .state()
                    .ok()
                    .and_then(|state| state.started)
                    .map(|s| Named {
                        pid: s.pid,
                        start: s.pid_start,
                    });
            }
            self.known.insert(id.clone(), (journal.len(), named));
            if let Some(named) = named
                && self.lives(named)
            {
                workers.push(WorkerProcess {
                    run: id,
                    pid: named.pid,
                });
            }
        }
        workers
    }

    /// Its start tells it from another process that got its number.
    fn lives(&self, named: Named) -> bool {
        let path = self.proc.join(named.pid.to_string()).join("stat");
        std::fs::read(path)
            .ok()
            .and_then(|text| proc::stat(&String::from_utf8_lossy(&text)))
            .is_some_and(|stat| stat.start == named.start)
    }
}
