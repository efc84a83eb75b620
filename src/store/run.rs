//! One run's directory.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::clock::now_s;
use super::home::{Home, StoreError};
use super::journal::read_records;
use super::lock::Lock;
use super::random::random_hex;
use crate::domain::run_state::RunState;
use crate::domain::{Manifest, RunId, Subject, Suite};

/// Seconds that a fresh run may wait for its worker before it counts as interrupted.
const LAUNCH_GRACE_S: f64 = 10.0;

/// A run as its readers see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Written, its worker is starting.
    Queued,
    Running,
    /// The worker died: the journal ends mid-way.
    Interrupted,
    Cancelled,
    /// Harness fault.
    Fault,
    Finished,
}

impl RunStatus {
    pub fn name(self) -> &'static str {
        match self {
            RunStatus::Queued => "queued",
            RunStatus::Running => "running",
            RunStatus::Interrupted => "interrupted",
            RunStatus::Cancelled => "cancelled",
            RunStatus::Fault => "fault",
            RunStatus::Finished => "finished",
        }
    }

    pub fn live(self) -> bool {
        matches!(self, RunStatus::Queued | RunStatus::Running)
    }
}

/// What a reader may ask of a worker: a file in the run's `requests/`, so that it works from
/// another node as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    Cancel,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDir {
    path: PathBuf,
}

impl RunDir {
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Makes the directory of a new run and writes its manifest.
    pub fn create(home: &Home, fill: impl FnOnce(RunId) -> Manifest) -> Result<Self, StoreError> {
        let id = Self::fresh_id(home)?;
        let run = home.run(&id);
        for folder in ["requests", "cases", "output"] {
            let dir = run.path.join(folder);
            std::fs::create_dir_all(&dir).map_err(StoreError::io(&dir))?;
        }
        // the manifest comes last, by rename: a directory without one is no run yet
        write_json(&run.manifest_path(), &fill(id))?;
        Ok(run)
    }

    /// Sortable by time to the second, made unique by taking the directory's name.
    fn fresh_id(home: &Home) -> Result<RunId, StoreError> {
        loop {
            let stamp = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
            let random = random_hex::<2>().map_err(StoreError::io(&home.runs()))?;
            let id = RunId(format!("{stamp}-{random}"));
            let dir = home.run(&id).path;
            match std::fs::create_dir(&dir) {
                Ok(()) => return Ok(id),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => {
                    return Err(StoreError::Io {
                        path: dir,
                        source: e,
                    });
                }
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn id(&self) -> RunId {
        RunId(
            self.path
                .file_name()
                .map(|n| n.to_string_lossy().into_owned())
                .unwrap_or_default(),
        )
    }

    pub fn manifest_path(&self) -> PathBuf {
        self.path.join("manifest.json")
    }

    pub fn journal_path(&self) -> PathBuf {
        self.path.join("journal.jsonl")
    }

    pub fn worker_log_path(&self) -> PathBuf {
        self.path.join("worker.log")
    }

    pub fn lock_path(&self) -> PathBuf {
        self.path.join("lock")
    }

    /// The patch that is graded, as it was when the run was made.
    pub fn patch_path(&self) -> PathBuf {
        self.path.join("submission.patch")
    }

    /// The adapter of the run's agent, as it was when the run was made.
    pub fn agent_path(&self) -> PathBuf {
        self.path.join("agent.toml")
    }

    /// The locked requirements of the run's agent, where it has some.
    pub fn agent_lock_path(&self) -> PathBuf {
        self.path.join("agent.lock")
    }

    /// The prompt that the agent is given.
    pub fn prompt_path(&self) -> PathBuf {
        self.path.join("prompt.md")
    }

    /// The agent's stream, or its trajectory.
    pub fn agent_log_path(&self) -> PathBuf {
        self.path.join("agent.log")
    }

    /// When the pieces of `agent.log` came: lines of `milliseconds bytes`.
    pub fn agent_times_path(&self) -> PathBuf {
        self.path.join("agent.times")
    }

    /// The log of the agent of an attempt before, put aside when the next one began: from 1.
    pub fn earlier_log_path(&self, attempt: u32) -> PathBuf {
        self.path.join(format!("agent.{attempt}.log"))
    }

    /// When its pieces came.
    pub fn earlier_times_path(&self, attempt: u32) -> PathBuf {
        self.path.join(format!("agent.{attempt}.times"))
    }

    /// The symbol edits that are graded, where they came as such.
    pub fn edits_path(&self) -> PathBuf {
        self.path.join("submission.toml")
    }

    pub fn cases_path(&self, subject: Subject, suite: Suite) -> PathBuf {
        self.path
            .join("cases")
            .join(format!("{}-{}.jsonl", subject.name(), suite.name()))
    }

    pub fn output_dir(&self) -> PathBuf {
        self.path.join("output")
    }

    /// Work trees and scratch; removed when the run ends.
    pub fn scratch_path(&self) -> PathBuf {
        self.path.join("scratch")
    }

    /// An agent's tree that is still to be captured, while the rest of an attempt is removed.
    pub fn kept_tree_path(&self) -> PathBuf {
        self.path.join("agent-tree-kept")
    }

    /// Whether a run can be taken up that ended as a fault of ours: its agent's time is spent, and
    /// what came of it is here, as a patch or as the tree. Only what comes after is done again.
    pub fn fault_goes_on(&self, state: &RunState) -> bool {
        let kept = match (&state.captured, &state.agent) {
            (Some(_), _) => self.patch_path().is_file(),
            (None, Some(agent)) => agent.end.is_some() && self.kept_tree_path().is_dir(),
            (None, None) => false,
        };
        // 2 is bad input
        kept && state.fault.is_some() && state.exit == Some(3)
    }

    /// What a calibration run made.
    pub fn calibration_path(&self) -> PathBuf {
        self.path.join("calibration.json")
    }

    /// What a verify run found.
    pub fn acceptance_path(&self) -> PathBuf {
        self.path.join("acceptance.json")
    }

    /// What a run over gold's mutants found.
    pub fn mutation_path(&self) -> PathBuf {
        self.path.join("mutation.json")
    }

    /// What a reviewer said of a suspect run.
    pub fn review_path(&self) -> PathBuf {
        self.path.join("review.json")
    }

    /// What reviewers wrote beside lines.
    pub fn notes_path(&self) -> PathBuf {
        self.path.join("notes.json")
    }

    pub fn summary_path(&self) -> PathBuf {
        self.path.join("summary.json")
    }

    pub fn manifest(&self) -> Result<Manifest, StoreError> {
        read_json(&self.manifest_path())
    }

    /// The fold over the journal; a run without one yet is empty.
    pub fn state(&self) -> Result<RunState, StoreError> {
        let path = self.journal_path();
        if !path.exists() {
            return Ok(RunState::default());
        }
        Ok(RunState::fold(&read_records(&path)?))
    }

    /// The fold over the journal, and what it tells together with the lock.
    pub fn seen(&self) -> Result<(RunState, RunStatus), StoreError> {
        let created_s = self.manifest()?.created_s;
        let mut state = self.state()?;
        loop {
            let status = self.status(&state, created_s);
            if state.finished() || status == RunStatus::Running {
                return Ok((state, status));
            }
            // nobody holds the lock: a worker that ended since the journal was read said so in it
            let now = self.state()?;
            if now.last_at_s == state.last_at_s && now.finished() == state.finished() {
                return Ok((state, status));
            }
            state = now;
        }
    }

    /// What a state that was read tells together with the lock. A run that ends between the two
    /// looks interrupted: [`Self::seen`] looks again.
    pub fn status(&self, state: &RunState, created_s: f64) -> RunStatus {
        if state.finished() {
            return match (state.cancelled, &state.fault) {
                (true, _) => RunStatus::Cancelled,
                (_, Some(_)) => RunStatus::Fault,
                _ => RunStatus::Finished,
            };
        }
        if Lock::is_held(&self.lock_path()) {
            RunStatus::Running
        } else if state.started.is_none() && now_s() - created_s < LAUNCH_GRACE_S {
            RunStatus::Queued
        } else {
            RunStatus::Interrupted
        }
    }

    pub fn request(&self, request: Request) -> Result<(), StoreError> {
        let path = self.request_path(request);
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir).map_err(StoreError::io(dir))?;
        }
        std::fs::write(&path, b"").map_err(StoreError::io(&path))
    }

    pub fn request_path(&self, request: Request) -> PathBuf {
        let Request::Cancel = request;
        self.path.join("requests").join("cancel")
    }
}

/// Writes a JSON file whole or not at all.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), StoreError> {
    let text = serde_json::to_vec_pretty(value).map_err(|e| StoreError::Malformed {
        path: path.to_path_buf(),
        line: 0,
        message: e.to_string(),
    })?;
    let part = path.with_extension(format!("part-{}", std::process::id()));
    // what a killed process left, or a link that somebody put there, is not written to
    match std::fs::remove_file(&part) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(StoreError::io(&part)(e)),
        _ => {}
    }
    std::fs::File::create_new(&part)
        .and_then(|mut file| file.write_all(&text))
        .map_err(StoreError::io(&part))?;
    std::fs::rename(&part, path).map_err(StoreError::io(path))
}

pub(crate) fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, StoreError> {
    let text = std::fs::read(path).map_err(StoreError::io(path))?;
    serde_json::from_slice(&text).map_err(|e| StoreError::Malformed {
        path: path.to_path_buf(),
        line: e.line(),
        message: e.to_string(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;
    use crate::domain::{Event, Level};
    use crate::store::{Journal, Lock};

    /// A manifest as an older version wrote it.
    fn run_in(home: &Home) -> RunDir {
        RunDir::create(home, |id| {
            serde_json::from_value(serde_json::json!({
                "schema": 1, "run": id, "task": "t", "task_dir": "/t", "source": {"kind": "gold"},
                "suites": "all", "engine": "auto", "created_s": 1.0,
            }))
            .unwrap()
        })
        .unwrap()
    }

    #[test]
    fn a_run_that_ends_while_it_is_looked_at_is_never_interrupted() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(dir.path()).unwrap();
        for _ in 0..30 {
            let run = run_in(&home);
            let lock = Lock::try_take(&run.lock_path()).unwrap();
            let mut journal = Journal::open(&run.journal_path()).unwrap();
            // long enough for its fold to take a while
            for _ in 0..300 {
                let text = "x".repeat(500);
                let level = Level::Info;
                journal.append(Event::Log { level, text }).unwrap();
            }
            let over = AtomicBool::new(false);
            // at least one look before the end, and one after it, however busy the machine is
            let looks = AtomicUsize::new(0);
            let another = || {
                let before = looks.load(Ordering::Acquire);
                let begun = std::time::Instant::now();
                while looks.load(Ordering::Acquire) < before + 2 {
                    assert!(begun.elapsed().as_secs() < 60, "nobody looks");
                    std::thread::yield_now();
                }
            };
            std::thread::scope(|scope| {
                let looking = scope.spawn(|| {
                    let mut seen = Vec::new();
                    while !over.load(Ordering::Acquire) {
                        seen.push(run.seen().unwrap().1);
                        looks.fetch_add(1, Ordering::Release);
                    }
                    seen
                });
                another();
                journal.append(Event::RunFinished { exit: 0 }).unwrap();
                drop(lock);
                another();
                over.store(true, Ordering::Release);
                let seen = looking.join().unwrap();
                assert!(!seen.contains(&RunStatus::Interrupted), "{seen:?}");
            });
            assert_eq!(run.seen().unwrap().1, RunStatus::Finished);
        }
    }
}
