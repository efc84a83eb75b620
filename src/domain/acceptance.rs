//! What verify found of a task's judge (METHOD.md section 3). Its JSON schema is
//! `assets/schema/acceptance.json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CaseId, Cause, EngineKind, Outcome, Suite};

/// Version of [`Acceptance`]'s shape.
pub const ACCEPTANCE_VERSION: u32 = 1;

/// How often gold has to pass, one run after the other, before anything is recorded (METHOD.md section
/// 3).
pub const GOLD_RUNS: u32 = 3;

/// What the hollow patch raises, as a test runner tells it.
pub const HOLLOW_ERROR: &str = "NotImplementedError: hollow";

/// What a patch is to the acceptance rule, in which a mutant has no part.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Gold,
    Base,
    Hollow,
    Adversarial,
    Alternative,
    Mutant,
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Self::Gold => "gold",
            Self::Base => "base",
            Self::Hollow => "hollow",
            Self::Adversarial => "adversarial",
            Self::Alternative => "alternative",
            Self::Mutant => "mutant",
        }
    }

    /// As lists name a patch: `gold`, `adversarial/NAME`, `mutant/NAME`.
    pub fn label(self, name: &str) -> String {
        match self {
            Self::Adversarial | Self::Alternative | Self::Mutant => {
                format!("{}/{name}", self.name())
            }
            _ => self.name().to_owned(),
        }
    }
}

/// What the acceptance rule comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Every part of the rule holds.
    Accepted,
    Rejected,
    /// The task has no probe suite.
    Unprobed,
}

impl Standing {
    pub fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::Unprobed => "unprobed",
        }
    }
}

/// A part of the acceptance rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    GoldPasses,
    BaseRejected,
    GuardsHold,
    HollowCollects,
    HollowRejected,
    AdversarialRejected,
    AdversarialOfficial,
    AlternativesAccepted,
}

impl Rule {
    pub const ALL: [Self; 8] = [
        Self::GoldPasses,
        Self::BaseRejected,
        Self::GuardsHold,
        Self::HollowCollects,
        Self::HollowRejected,
        Self::AdversarialRejected,
        Self::AdversarialOfficial,
        Self::AlternativesAccepted,
    ];

    pub fn words(self) -> &'static str {
        match self {
            Self::GoldPasses => "gold passes every probe in every run, none skipped",
            Self::BaseRejected => "every probe rejects base",
            Self::GuardsHold => "every guard passes on base",
            Self::HollowCollects => "what gold collects, hollow collects",
            Self::HollowRejected => "every probe rejects hollow",
            Self::AdversarialRejected => "every adversarial patch is rejected by a probe",
            Self::AdversarialOfficial => {
                "every adversarial patch scores no worse than gold on the official suite"
            }
            Self::AlternativesAccepted => "every alternative patch is accepted",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleVerdict {
    pub rule: Rule,
    pub holds: bool,
    /// What breaks it, a line each; quotes untrusted text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}

/// By what a probe function rejects a patch; the strongest of its cases.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum How {
    Assertion,
    /// Another exception in the probe's body.
    Error,
    Setup,
    /// The file cannot be imported or collected.
    Collection,
    Timeout,
    /// Skipped, or expected to fail.
    Skipped,
    Missing,
}

impl How {
    pub fn words(self) -> &'static str {
        match self {
            Self::Assertion => "assertion",
            Self::Error => "error",
            Self::Setup => "error in setup",
            Self::Collection => "error at collection",
            Self::Timeout => "timeout",
            Self::Skipped => "skipped",
            Self::Missing => "missing",
        }
    }
}

/// A probe function that rejects a patch (METHOD.md section 3, **R**).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rejection {
    pub function: String,
    /// Its case that tells most.
    pub case: CaseId,
    pub outcome: Outcome,
    pub how: How,
    /// Claims that the function is mapped to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<String>,
    /// Untrusted text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Passed cases of gold's `C`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Passed {
    pub passed: usize,
    pub of: usize,
}

/// A patch and what both suites make of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchRow {
    /// `gold`, `base`, `hollow`, `adversarial/NAME`, `alternative/NAME`.
    pub patch: String,
    pub role: Role,
    /// The claim that an adversarial patch violates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// Why nothing of it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<(Cause, String)>,
    pub runs: u32,
    /// The worst of its runs.
    pub official: Passed,
    pub probes: Passed,
    /// In any of its runs, guards among them.
    pub rejected_by: Vec<Rejection>,
    /// What became of each case, a line each run: a mark each case, in the order of `cases`
    /// ([`Outcome::mark`]).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outcomes: BTreeMap<Suite, Vec<String>>,
}

impl PatchRow {
    /// Rejecting functions that are mapped to the claim it violates.
    pub fn by_its_claim(&self) -> usize {
        let own = |r: &&Rejection| self.claim.as_ref().is_some_and(|c| r.claims.contains(c));
        self.rejected_by.iter().filter(own).count()
    }

    /// The strongest way in which a probe rejects it.
    pub fn how(&self) -> Option<How> {
        self.rejected_by.iter().map(|r| r.how).min()
    }
}

/// What a list of things to do, or to know, speaks of.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// An adversarial patch that nothing rejects.
    Survivor,
    /// A probe that rejects an alternative patch.
    RejectsAlternative,
    OfficialBelowGold,
    /// A patch that does not apply or build.
    DoesNotApply,
    ClaimWithoutProbe,
    /// A probe that no claim is mapped to.
    ProbeWithoutClaim,
    /// A probe that rejects no adversarial patch.
    RejectsNothing,
    SingleOracle,
    ClaimWithoutAdversarial,
    /// Rejected, but by no assertion.
    OnlyByCrash,
    /// Rejected, but by no probe of the violated claim.
    OtherClaim,
    /// A probe that rejects hollow, but by no raise of a new function.
    HollowThroughOld,
    /// A Python file of gold that could not be read: hollow has it as it is.
    HollowUnread,
    /// Official cases that differ between gold's runs.
    OfficialFlaky,
    /// Tests that come out otherwise alone than among the others.
    SharesState,
    /// A probe that no must-fail twin guards.
    WithoutTwin,
}

impl FindingKind {
    pub fn words(self) -> &'static str {
        match self {
            Self::Survivor => "survivor",
            Self::RejectsAlternative => "rejects an alternative",
            Self::OfficialBelowGold => "official score below gold's",
            Self::DoesNotApply => "does not apply",
            Self::ClaimWithoutProbe => "claim without a probe",
            Self::ProbeWithoutClaim => "probe without a claim",
            Self::RejectsNothing => "rejects no adversarial patch",
            Self::SingleOracle => "single oracle kind",
            Self::ClaimWithoutAdversarial => "claim without an adversarial patch",
            Self::OnlyByCrash => "rejected by no assertion",
            Self::OtherClaim => "rejected by other claims' probes only",
            Self::HollowThroughOld => "rejects hollow only through an old function",
            Self::HollowUnread => "hollow has it as in gold",
            Self::OfficialFlaky => "flaky official case",
            Self::SharesState => "tests share state",
            Self::WithoutTwin => "no must-fail twin",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    pub kind: FindingKind,
    /// A patch, a probe function or a claim.
    pub subject: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// What executions tell of a claim; the rest of its coverage record stands in `task.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimRow {
    pub claim: String,
    /// Probe functions mapped to it that gold collects.
    pub probes: Vec<String>,
    /// Adversarial patches that violate it, and those of them that its own probes reject.
    pub tried: Vec<String>,
    pub rejected: Vec<String>,
    /// Claims whose probes also reject these patches: how isolated the claim is.
    pub also: Vec<String>,
}

/// The acceptance of a task's probe suite, with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Acceptance {
    pub schema: u32,
    pub task: String,
    pub run: String,
    pub standing: Standing,
    /// Why it is none yet: such a one is not recorded with the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provisional: Option<String>,
    /// Hash of everything that it rests on: another one, and it is stale.
    pub key: String,
    /// Hash of all the rest of this document: no secret, it tells an edit by hand.
    #[serde(default)]
    pub digest: String,
    pub engine: EngineKind,
    pub environment: String,
    /// What sandboxes were made of, by what names its content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_type: Option<String>,
    pub created_s: f64,
    /// Consecutive runs of gold.
    pub runs: u32,
    /// Processes of every suite, where others were asked for than the task's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
    /// With that many equal runs a case may still flake up to this rate, at 95 % confidence.
    pub flake_bound: f64,
    pub rules: Vec<RuleVerdict>,
    /// Gold's cases.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cases: BTreeMap<Suite, Vec<CaseId>>,
    pub patches: Vec<PatchRow>,
    pub claims: Vec<ClaimRow>,
    /// What to revise; each also breaks a rule or leaves a claim unproven.
    pub revise: Vec<Finding>,
    /// Warnings; they never change the standing.
    pub warnings: Vec<Finding>,
    /// Functions that hollow leaves as in gold beyond what reading them tells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hollow_needs: Vec<ImportNeed>,
    /// What was recorded of the task in its earlier states, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Round>,
}

/// A function without which hollow's tests cannot be collected, as a run told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportNeed {
    pub path: String,
    pub function: String,
    pub why: String,
}

/// An earlier acceptance of a task that has changed since, in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Round {
    pub run: String,
    pub created_s: f64,
    pub standing: Standing,
    /// Parts of the rule that did not hold.
    pub broken: Vec<Rule>,
    /// How much there was to revise.
    pub revise: usize,
}

impl Acceptance {
    pub fn broken(&self) -> impl Iterator<Item = &RuleVerdict> {
        self.rules.iter().filter(|r| !r.holds)
    }
}
