//! Figures of an agent's session, gathered from its entries.

use std::collections::HashSet;

use crate::agent::trace::{Entry, Kind, Progress, Summary, TraceUsage};
use crate::domain::submission::LogFormat;

/// Paths that are told apart; more are not counted.
const MOST_FILES: usize = 20_000;

/// What a log tells so far. Absent is unknown, never nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    pub usage: Option<TraceUsage>,
    pub model: Option<String>,
    pub commands: usize,
    pub failed: usize,
    pub running: usize,
    /// Waits for the model's service.
    pub waits: Waits,
    /// Files that edit tools changed; absent where the format has no edit tools.
    pub files: Option<usize>,
    /// When the newest byte came.
    pub written_s: Option<f64>,
}

/// How often, and how long as far as the stream tells.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Waits {
    pub rate_limits: usize,
    pub others: usize,
    pub told_s: f64,
    /// Nothing came after the newest of them.
    pub now: bool,
}

/// Counts entries as they come and as they are replaced.
#[derive(Debug)]
pub struct Gather {
    summary: Summary,
    seen: usize,
    commands: usize,
    failed: HashSet<usize>,
    running: HashSet<usize>,
    waits: Waits,
    has_edits: bool,
    files: HashSet<String>,
}

impl Gather {
    pub fn new(format: LogFormat) -> Self {
        Self {
            summary: Summary::without_lists(format),
            seen: 0,
            commands: 0,
            failed: HashSet::new(),
            running: HashSet::new(),
            waits: Waits::default(),
            has_edits: !matches!(format, LogFormat::Mini | LogFormat::Text),
            files: HashSet::new(),
        }
    }

    pub fn take(&mut self, at: usize, entry: &Entry) {
        self.summary.take(at, entry);
        let new = at >= self.seen;
        self.seen = self.seen.max(at + 1);
        self.waits.now &= !new;
        match &entry.kind {
            Kind::Command { progress, .. } => {
                self.commands += usize::from(new);
                mark(&mut self.failed, at, *progress == Progress::Failed);
                mark(&mut self.running, at, *progress == Progress::Running);
            }
            Kind::Wait {
                delay_s,
                rate_limit,
                ..
            } if new => {
                self.waits.rate_limits += usize::from(*rate_limit);
                self.waits.others += usize::from(!*rate_limit);
                self.waits.told_s += delay_s.unwrap_or(0.0);
                self.waits.now = true;
            }
            Kind::Edit {
                files, progress, ..
            } if *progress == Progress::Done => {
                for (_, path) in files {
                    if self.files.len() < MOST_FILES {
                        self.files.insert(path.clone());
                    }
                }
            }
            _ => {}
        }
    }

    pub fn figures(&self, model: Option<String>, written_s: Option<f64>) -> Figures {
        Figures {
            usage: self.summary.usage().cloned(),
            model,
            commands: self.commands,
            failed: self.failed.len(),
            running: self.running.len(),
            waits: self.waits,
            files: self.has_edits.then_some(self.files.len()),
            written_s,
        }
    }
}

fn mark(set: &mut HashSet<usize>, at: usize, holds: bool) {
    if holds {
        set.insert(at);
    } else {
        set.remove(&at);
    }
}
