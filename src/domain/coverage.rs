//! The coverage record of a task's claims (METHOD.md section 3): what `task.toml` says of each, what
//! verify saw, and who has signed its mapping to probes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::acceptance::{Round, Standing};
use super::task::{ClaimKind, Oracle};

/// Version of [`Signoffs`]' shape.
pub const SIGNOFF_VERSION: u32 = 1;

/// `signoff.json` in a task's folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Signoffs {
    pub schema: u32,
    pub claims: Vec<Signoff>,
}

impl Default for Signoffs {
    fn default() -> Self {
        Self {
            schema: SIGNOFF_VERSION,
            claims: Vec::new(),
        }
    }
}

impl Signoffs {
    pub fn of(&self, claim: &str) -> Option<&Signoff> {
        self.claims.iter().find(|s| s.claim == claim)
    }

    /// Adds one; the last word on a claim counts.
    pub fn sign(&mut self, signoff: Signoff) {
        self.claims.retain(|s| s.claim != signoff.claim);
        self.claims.push(signoff);
    }
}

/// A person's word that the probes of a claim measure what it says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Signoff {
    pub claim: String,
    pub who: String,
    /// Seconds since the epoch.
    pub at_s: f64,
    /// Of the claim, its mapping, and the sources of its probes.
    pub hash: String,
}

/// How a sign-off stands to what the task is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SignoffState {
    Signed,
    /// The claim, its mapping or a probe has changed since.
    Stale,
    Unsigned,
}

/// How the record of what verify saw stands to the task as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Seen {
    Never,
    Fresh,
    /// Something that it rests on has changed since.
    Stale,
}

/// The record of one claim.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ClaimCoverage {
    pub claim: String,
    pub text: String,
    pub kind: ClaimKind,
    /// What a probe looks at.
    pub observable: Option<String>,
    pub oracles: Vec<Oracle>,
    pub modes: Vec<String>,
    /// What it was measured on.
    pub hardware: String,
    /// How a resource is measured, and how much that varies.
    pub method: Option<String>,
    pub noise: Option<String>,
    pub blind_spots: Vec<String>,
    pub unmeasured: Option<String>,
    /// Mapped to it in `task.toml`.
    pub probes: Vec<String>,
    pub adversarial: Variants,
    /// Claims whose probes reject its adversarial patches too, as verify saw it.
    pub also: Vec<String>,
    pub signoff: SignoffState,
    pub signed: Option<Signoff>,
    pub missing: Vec<Missing>,
}

/// Adversarial variants of a claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Variants {
    /// Kept and dropped.
    pub tried: usize,
    pub kept: Vec<String>,
    /// Those of them that a probe of the claim rejects, as verify saw it.
    pub rejected: Vec<String>,
    pub dropped: Vec<Dropped>,
}

/// A variant that is not kept.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Dropped {
    pub name: String,
    pub why: String,
}

/// What a record lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    Probe,
    Observable,
    SingleOracle,
    BlindSpots,
    Adversarial,
    /// No probe of the claim rejects an adversarial patch that violates it.
    Rejection,
    /// Of a resource: how it is measured.
    Method,
    /// Of a resource: how much the measurement varies.
    Noise,
    Signoff,
    FreshSignoff,
}

impl Missing {
    pub fn words(self) -> &'static str {
        match self {
            Self::Probe => "no probe, and no reason why",
            Self::Observable => "what is observed is not said",
            Self::SingleOracle => "a single oracle kind",
            Self::BlindSpots => "no blind spot is stated",
            Self::Adversarial => "no adversarial patch violates it",
            Self::Rejection => "an adversarial patch that its own probes do not reject",
            Self::Method => "a resource without its method",
            Self::Noise => "a resource without its noise",
            Self::Signoff => "nobody has signed its mapping to probes",
            Self::FreshSignoff => "signed before a change",
        }
    }

    /// How it is mended.
    pub fn mend(self) -> &'static str {
        match self {
            Self::Probe => "map probes to it, or add unmeasured = \"<reason>\"",
            Self::Observable => "add observable = \"<what a probe looks at>\"",
            Self::SingleOracle => "add a probe that expects its values from another source",
            Self::BlindSpots => "add blind_spots = [\"<what its probes cannot see>\"]",
            Self::Adversarial => "add an [[adversarial]] patch that violates it",
            Self::Rejection => "revise a probe of it until it rejects the patch",
            Self::Method => "add method = \"<how it is measured>\"",
            Self::Noise => "add noise = \"<how much that varies, and how it is known>\"",
            Self::Signoff | Self::FreshSignoff => {
                "read claim and probes, then `infradev coverage TASK --sign NAME`"
            }
        }
    }
}

/// The record of a task.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Coverage {
    pub schema: u32,
    pub task: String,
    pub seen: Seen,
    pub standing: Option<Standing>,
    /// Times that verify recorded this task in different states, the present one with them.
    pub rounds: usize,
    pub earlier: Vec<Round>,
    pub claims: Vec<ClaimCoverage>,
    /// Nothing is missing.
    pub complete: bool,
}
