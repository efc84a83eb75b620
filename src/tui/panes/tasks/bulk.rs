//! Work on many submissions: what waits to be started, what runs, how far all of it is.

use std::collections::VecDeque;

use crate::domain::{RunId, Source};
use crate::tui::backend::{GradeRequest, RunSummary};
use crate::tui::state::App;

/// How many of them run at once at most, where the machine has the cores for it.
const MOST: usize = 8;
/// Cores that one of them is given.
const CORES: usize = 4;

/// A batch of grades. It lives in the workbench: what was not started when that ends, is not.
#[derive(Clone, Debug, Default)]
pub struct Bulk {
    pub waiting: VecDeque<GradeRequest>,
    /// Asked for, not begun.
    pub asked: Vec<GradeRequest>,
    /// And whether a list of runs had it since: one that was made before does not.
    pub running: Vec<(RunId, bool)>,
    pub done: usize,
    pub total: usize,
    pub since_s: f64,
    /// Leaving was asked for once while something waits.
    pub warned: bool,
    /// Whose failing cases are to run again once their cases are read.
    pub rerun: Option<Vec<(String, Source)>>,
}

impl Bulk {
    pub fn active(&self) -> bool {
        self.total > 0
    }

    /// Takes up what is asked for; a new batch is counted from now on.
    pub fn add(&mut self, requests: Vec<GradeRequest>, now_s: f64) {
        if !self.active() {
            self.since_s = now_s;
        }
        self.total += requests.len();
        self.waiting.extend(requests);
    }

    /// A request of the batch began, or could not.
    pub fn started(&mut self, request: &GradeRequest, run: Option<&RunId>) -> bool {
        let Some(at) = self.asked.iter().position(|asked| asked == request) else {
            return false;
        };
        self.asked.remove(at);
        match run {
            Some(run) => self.running.push((run.clone(), false)),
            None => self.done += 1,
        }
        true
    }

    /// What is to be started now: as many as there is room for beside what runs.
    pub fn next(&mut self, runs: &[RunSummary], most: usize) -> Vec<GradeRequest> {
        let before = self.running.len();
        self.running.retain_mut(|(run, seen)| {
            match runs.iter().find(|summary| summary.id == *run) {
                Some(summary) => {
                    *seen = true;
                    summary.status.live()
                }
                None => !*seen,
            }
        });
        self.done += before - self.running.len();
        let busy = self.running.len() + self.asked.len();
        let count = most.saturating_sub(busy).min(self.waiting.len());
        let now: Vec<GradeRequest> = self.waiting.drain(..count).collect();
        self.asked.extend(now.iter().cloned());
        now
    }

    /// Nothing is left to do.
    pub fn over(&self) -> bool {
        self.active() && self.waiting.is_empty() && self.asked.is_empty() && self.running.is_empty()
    }
}

/// How many grades of a batch run at once on this machine.
pub fn at_once(app: &App) -> usize {
    let cores = app
        .gpu
        .view
        .as_ref()
        .map_or(0, |view| view.host.cores as usize);
    (cores / CORES).clamp(1, MOST)
}
