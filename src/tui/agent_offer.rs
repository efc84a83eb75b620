//! What the workbench knows of agents before it runs one, and what it asks for.

use crate::domain::{EngineChoice, NetworkMode};

/// What can be run on a task, and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentOffer {
    pub agents: Vec<AgentChoice>,
    /// The prompts that the task has; never empty.
    pub variants: Vec<String>,
    /// The variant where none is chosen.
    pub variant: usize,
    /// The task's own wall limit.
    pub limit_s: f64,
    /// What `replay` can replay, submissions first, then runs, newest first.
    pub recordings: Vec<Recording>,
    /// Lines a second of a recording without times.
    pub rate: f64,
}

/// An agent as its adapter describes it. May quote untrusted text.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentChoice {
    pub name: String,
    pub version: Option<String>,
    pub summary: String,
    pub network: NetworkMode,
    /// The model where none is asked for.
    pub model: Option<String>,
    /// Its command names a model.
    pub takes_model: bool,
    /// It replays a recording.
    pub replays: bool,
    /// Why it cannot be run, and the mend; absent: it can.
    pub missing: Option<String>,
}

impl AgentChoice {
    /// Whether it can be run once it is told a model.
    pub fn needs_model(&self) -> bool {
        self.takes_model && self.model.is_none()
    }
}

/// A recorded session.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// A submission's name or a run's id.
    pub what: String,
    /// Who worked: `codex · gpt-x`.
    pub who: String,
    /// When, of a run.
    pub created_s: Option<f64>,
    pub bytes: u64,
    /// How long it took, where the times of its pieces were kept.
    pub duration_s: Option<f64>,
}

/// Which agent is to work, and how; absent: the adapter's or the recording's own.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentRequest {
    pub task: String,
    pub agent: String,
    pub limit_s: f64,
    pub variant: String,
    pub model: Option<String>,
    pub recording: Option<String>,
    /// Lines of the recording a second.
    pub rate: Option<f64>,
    pub engine: EngineChoice,
}
