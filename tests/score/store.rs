//! A home with tasks, and its score through the path that the command takes.

use std::path::{Path, PathBuf};

use infradev::domain::{Calibration, Outcome, Suite};
use infradev::judge::score::{Score, Weights, score};
use infradev::report::score::{Read, find_runs, read_runs};
use infradev::store::Home;

pub struct Store {
    dir: tempfile::TempDir,
    pub home: Home,
}

impl Store {
    pub fn new() -> Self {
        // journals are synced at every stage: in memory, where there is such a place
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let dir = dir.unwrap();
        let home = Home::open(&dir.path().join("home")).unwrap();
        std::fs::create_dir(dir.path().join("tasks")).unwrap();
        Self { dir, home }
    }

    pub fn tasks(&self) -> PathBuf {
        self.dir.path().join("tasks")
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn score(&self, weights: Option<&Weights>) -> Score {
        let folders = find_runs(&[], self.home.root()).unwrap();
        let Read { runs, tasks } = read_runs(&folders, self.home.root(), &self.tasks());
        score(&runs, &tasks, weights).unwrap()
    }
}

/// The first `passed` cases of gold's pass, the others fail.
pub fn first(gold: &Calibration, passed: usize) -> Vec<(infradev::domain::CaseId, Outcome)> {
    let suite: &Suite = gold.suites.keys().next().unwrap();
    let cases = &gold.suites[suite].cases;
    let outcome = |at: usize| {
        if at < passed {
            Outcome::Passed
        } else {
            Outcome::Failed
        }
    };
    (cases.iter().enumerate())
        .map(|(at, c)| (c.id.clone(), outcome(at)))
        .collect()
}
