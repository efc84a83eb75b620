//! A run in one line, for lists.
//!
//! A finished run keeps its line in `summary.json`, so that a list of a thousand runs reads a
//! thousand small files. It is a copy: where it is missing, the journal is folded.

use serde::{Deserialize, Serialize};

use super::home::{Home, StoreError};
use super::run::{RunDir, RunStatus, read_json, write_json};
use crate::domain::run_state::RunState;
use crate::domain::{
    Badge, Cause, EngineKind, Manifest, MutationCounts, RunId, Source, Standing, Suite, Verdict,
    Work,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Summary {
    pub run: RunId,
    pub task: String,
    pub source: Source,
    pub status: RunStatus,
    pub engine: Option<EngineKind>,
    pub verdict: Option<Verdict>,
    pub badges: Vec<Badge>,
    pub cause: Option<Cause>,
    pub official: Option<Pair>,
    pub probes: Option<Pair>,
    /// The stage it is in, while it runs.
    pub stage: Option<String>,
    /// Others hold the GPUs that it needs.
    #[serde(default)]
    pub waits_for_gpus: bool,
    pub parent: Option<RunId>,
    /// Gold runs of a calibration run; absent: a patch is graded.
    #[serde(default)]
    pub calibrates: Option<u32>,
    /// Gold runs of a verify run, which comes to a standing.
    #[serde(default)]
    pub verifies: Option<u32>,
    #[serde(default)]
    pub standing: Option<Standing>,
    /// Gold's mutants are graded.
    #[serde(default)]
    pub grades_mutants: bool,
    #[serde(default)]
    pub mutants: Option<MutationCounts>,
    /// Processes of every suite, where they are not the task's own number.
    #[serde(default)]
    pub ranks: Option<u32>,
    /// Cases that were asked for by name; 0: whole suites.
    pub only: usize,
    pub created_s: f64,
    pub duration_s: Option<f64>,
    pub fault: Option<String>,
}

/// Passed of collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Pair {
    pub passed: usize,
    pub collected: usize,
}

impl Summary {
    pub fn of(run: &RunDir) -> Result<Self, StoreError> {
        let path = run.summary_path();
        if path.exists()
            && let Ok(kept) = read_json(&path)
        {
            return Ok(kept);
        }
        let manifest = run.manifest()?;
        let (state, status) = run.seen()?;
        Ok(Self::from_state(&manifest, &state, status))
    }

    /// All runs of a home, oldest first; a broken one is left out rather than hiding the others.
    pub fn list(home: &Home) -> Result<Vec<Self>, StoreError> {
        Ok(home
            .list()?
            .iter()
            .filter_map(|run| Self::of(run).ok())
            .collect())
    }

    pub fn from_state(manifest: &Manifest, state: &RunState, status: RunStatus) -> Self {
        let grade = state.grade.as_ref();
        let pair = |suite: Suite| match grade {
            Some(g) => g.suites.get(&suite).map(|s| Pair {
                passed: s.passed,
                collected: s.collected,
            }),
            None if state.calibration.is_some() => {
                let made = state.calibration.as_ref().and_then(|c| c.get(&suite));
                made.map(|c| Pair {
                    passed: c.passed,
                    collected: c.collected,
                })
            }
            None => state
                .suite(crate::domain::Subject::Submission, suite)
                .map(|s| Pair {
                    passed: s.passed(),
                    collected: s.order.len(),
                }),
        };
        Self {
            run: manifest.run.clone(),
            task: manifest.task.clone(),
            source: manifest.source.clone(),
            status,
            engine: state.engine,
            verdict: match status {
                // bad input (exit 2) is nobody's fault but the order's: no verdict
                RunStatus::Fault => (state.exit != Some(2)).then_some(Verdict::Fault),
                _ => grade.map(|g| g.verdict),
            },
            badges: grade.map(|g| g.badges.clone()).unwrap_or_default(),
            cause: grade.and_then(|g| g.cause),
            official: pair(Suite::Official),
            probes: pair(Suite::Probes),
            stage: state
                .stage
                .map(|(stage, subject)| format!("{} {}", stage.name(), subject.name())),
            waits_for_gpus: state.waiting.is_some() && status.live(),
            parent: manifest.parent.clone(),
            calibrates: match manifest.work {
                Work::Grade | Work::Verify { .. } | Work::Mutants => None,
                Work::Calibrate { runs } => Some(runs),
            },
            verifies: match manifest.work {
                Work::Verify { runs, .. } => Some(runs),
                _ => None,
            },
            standing: state.standing,
            grades_mutants: manifest.work == Work::Mutants,
            mutants: state.mutants,
            ranks: manifest.ranks,
            only: manifest.only.len(),
            created_s: manifest.created_s,
            duration_s: state.last_at_s.map(|last| last - manifest.created_s),
            fault: state.fault.clone(),
        }
    }

    /// What the run was asked for.
    pub fn work(&self) -> Work {
        match (self.calibrates, self.verifies) {
            (Some(runs), _) => Work::Calibrate { runs },
            (None, Some(runs)) => Work::Verify {
                runs,
                again: Vec::new(),
                watch_s: None,
            },
            (None, None) if self.grades_mutants => Work::Mutants,
            (None, None) => Work::Grade,
        }
    }

    /// Keeps the line of a finished run.
    pub fn keep(run: &RunDir) -> Result<(), StoreError> {
        let manifest = run.manifest()?;
        let (state, status) = run.seen()?;
        if state.finished() {
            write_json(
                &run.summary_path(),
                &Self::from_state(&manifest, &state, status),
            )?;
        }
        Ok(())
    }
}
