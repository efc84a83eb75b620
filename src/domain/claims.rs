//! What a task's author says of the judge: claims with their probes and their coverage, guards,
//! adversarial and alternative patches, mutants that are marked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimKind {
    Behaviour,
    Numerics,
    Resource,
    Mode,
}

impl ClaimKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Behaviour => "behaviour",
            Self::Numerics => "numerics",
            Self::Resource => "resource",
            Self::Mode => "mode",
        }
    }
}

/// What a probe compares with (METHOD.md section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Oracle {
    ExistingPath,
    Invariance,
    Direct,
    Property,
}

impl Oracle {
    pub fn name(self) -> &'static str {
        match self {
            Self::ExistingPath => "existing-path",
            Self::Invariance => "invariance",
            Self::Direct => "direct",
            Self::Property => "property",
        }
    }
}

/// One promise of the change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    pub id: String,
    pub text: String,
    pub kind: ClaimKind,
    #[serde(default)]
    pub oracles: Vec<Oracle>,
    #[serde(default)]
    pub modes: Vec<String>,
    /// Probe functions mapped to the claim.
    #[serde(default)]
    pub probes: Vec<String>,
    /// Where the prompt states it: a verbatim quote.
    #[serde(default)]
    pub prompt: Option<String>,
    /// Instead of probes: why nothing measures it.
    #[serde(default)]
    pub unmeasured: Option<String>,
    /// What its probes look at (METHOD.md section 3: the coverage record).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observable: Option<String>,
    /// What its probes run on, where that is not what the task needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware: Option<String>,
    /// What its probes cannot see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blind_spots: Vec<String>,
    /// Of a resource: how it is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Of a resource: how much the measurement varies, and how that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<String>,
}

/// What an author says about the task's contract (METHOD.md section 4).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ContractSpec {
    /// Constants that the prompt may state though they stand in gold or in the tests.
    pub allow: Vec<AllowedConstant>,
}

impl ContractSpec {
    pub(super) fn is_empty(&self) -> bool {
        self.allow.is_empty()
    }
}

/// A constant that belongs to the interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllowedConstant {
    /// The number as the prompt writes it.
    pub constant: String,
    pub why: String,
}

/// A probe function that is meant to pass on base.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Guard {
    pub probe: String,
    pub why: String,
}

/// A deliberate violation of one claim that still passes the official tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Adversarial {
    pub name: String,
    pub claim: String,
    /// A patch, or a symbol-edit TOML.
    pub patch: String,
    #[serde(default)]
    pub summary: String,
}

/// An adversarial variant that is not kept: the official suite rejects it, or another stands for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DroppedVariant {
    pub name: String,
    pub claim: String,
    pub why: String,
}

/// A different correct solution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Alternative {
    pub name: String,
    pub patch: String,
    #[serde(default)]
    pub summary: String,
}

/// A mutant that is marked: whatever it does differently, no promise of the change speaks of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Equivalent {
    /// As `infradev mutants` names it.
    pub mutant: String,
    pub why: String,
}
