//! Submissions: a patch from an agent (or a person), with where it came from.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RunId, Verdict};

/// What is graded. In a manifest, paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub enum Source {
    Gold,
    Base,
    Submission {
        name: String,
    },
    /// A patch file, or a symbol-edit TOML.
    Patch {
        file: PathBuf,
    },
    /// What an agent leaves in the run that it works in.
    Agent {
        name: String,
        run: RunId,
    },
}

impl Source {
    /// As lists show it.
    pub fn label(&self) -> String {
        match self {
            Source::Gold => "gold".into(),
            Source::Base => "base".into(),
            Source::Submission { name } | Source::Agent { name, .. } => name.clone(),
            Source::Patch { file } => file
                .file_name()
                .map_or_else(|| "patch".into(), |n| n.to_string_lossy().into_owned()),
        }
    }
}

/// Tokens by kind (METHOD.md section 9): input without cache reads, output without reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    pub input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub output: u64,
    pub reasoning: u64,
}

/// `submissions/<name>/submission.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmissionSpec {
    pub schema: u32,
    /// The folder's name.
    pub name: String,
    pub agent: String,
    pub model: String,
    #[serde(default)]
    pub effort: Option<String>,
    /// The patch file beside it; absent: the agent left none (cause `missing`).
    #[serde(default)]
    pub patch: Option<String>,
    #[serde(default)]
    pub log: Option<String>,
    #[serde(default)]
    pub log_format: Option<LogFormat>,
    #[serde(default)]
    pub minutes: Option<f64>,
    #[serde(default)]
    pub cost_usd: Option<f64>,
    #[serde(default)]
    pub usage: Option<Usage>,
    #[serde(default)]
    pub note: Option<String>,
    /// What the task's author expects; shown, never used to grade.
    #[serde(default)]
    pub expected: Option<Verdict>,
}

/// Formats of recorded agent logs (PEERS.md section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    Codex,
    Claude,
    Opencode,
    Mini,
    #[serde(rename = "sweagent")]
    SweAgent,
    Openhands,
    Atif,
    Text,
}

impl LogFormat {
    /// A log is, or may be, one document that is read as a whole and not line by line.
    pub fn is_document(self) -> bool {
        matches!(
            self,
            Self::Mini | Self::SweAgent | Self::Openhands | Self::Atif
        )
    }
}

/// A submission as found on disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    pub spec: SubmissionSpec,
    pub dir: PathBuf,
}

impl Submission {
    pub fn patch_path(&self) -> Option<PathBuf> {
        self.spec.patch.as_ref().map(|p| self.dir.join(p))
    }

    pub fn log_path(&self) -> Option<PathBuf> {
        self.spec.log.as_ref().map(|p| self.dir.join(p))
    }
}
