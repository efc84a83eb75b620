//! What both suites make of gold's mutants (METHOD.md section 3). Its JSON schema is
//! `assets/schema/mutation.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::acceptance::{How, Passed};
use super::{Cause, EngineKind};

/// Version of [`Mutation`]'s shape.
pub const MUTATION_VERSION: u32 = 1;

/// What becomes of a mutant.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MutantResult {
    /// It scores worse than gold on the official suite, or does not build: no candidate for an
    /// adversarial patch.
    OfficialRejects,
    /// The official suite lets it pass, a probe does not.
    Killed,
    /// Nothing rejects it.
    Survives,
    /// Nothing rejects it, and the author says why nothing can.
    Equivalent,
}

impl MutantResult {
    pub const ALL: [Self; 4] = [
        Self::OfficialRejects,
        Self::Killed,
        Self::Survives,
        Self::Equivalent,
    ];

    pub fn words(self) -> &'static str {
        match self {
            Self::OfficialRejects => "official rejects",
            Self::Killed => "killed",
            Self::Survives => "survives",
            Self::Equivalent => "equivalent",
        }
    }
}

/// A probe function that rejects a mutant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Killer {
    pub function: String,
    pub how: How,
}

/// A mutant, and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GradedMutant {
    /// The same for the same change of the same code.
    pub name: String,
    pub operator: String,
    pub path: String,
    /// Qualified; empty: outside functions.
    pub function: String,
    /// Line of gold.
    pub line: usize,
    pub summary: String,
    pub result: MutantResult,
    /// Official cases of gold's `C` that it passes.
    pub official: Passed,
    /// Why nothing of it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<(Cause, String)>,
    /// Probe functions that reject it, in the order of collection.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub killed_by: Vec<Killer>,
    /// Guards that do not pass on it; they count in no kill matrix.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<String>,
    /// The author's reason, where it is marked as equivalent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equivalent: Option<String>,
}

/// How many mutants came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MutationCounts {
    pub official_rejects: usize,
    pub killed: usize,
    pub survives: usize,
    pub equivalent: usize,
}

impl MutationCounts {
    pub fn of<'a>(all: impl IntoIterator<Item = &'a GradedMutant>) -> Self {
        let mut counts = Self::default();
        for mutant in all {
            let of = match mutant.result {
                MutantResult::OfficialRejects => &mut counts.official_rejects,
                MutantResult::Killed => &mut counts.killed,
                MutantResult::Survives => &mut counts.survives,
                MutantResult::Equivalent => &mut counts.equivalent,
            };
            *of += 1;
        }
        counts
    }

    pub fn get(self, result: MutantResult) -> usize {
        match result {
            MutantResult::OfficialRejects => self.official_rejects,
            MutantResult::Killed => self.killed,
            MutantResult::Survives => self.survives,
            MutantResult::Equivalent => self.equivalent,
        }
    }

    /// Those that the official suite lets pass, the equivalent ones aside.
    pub fn judged(self) -> usize {
        self.killed + self.survives
    }

    /// The mutation score: killed of those judged; none where nothing was there to kill.
    pub fn score(self) -> Option<f64> {
        (self.judged() > 0).then(|| self.killed as f64 / self.judged() as f64)
    }
}

/// A mark of the author's that does not hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrongMark {
    pub mutant: String,
    pub detail: String,
}

/// All mutants of a task's gold on both suites.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mutation {
    pub schema: u32,
    pub task: String,
    pub run: String,
    pub engine: EngineKind,
    pub environment: String,
    pub created_s: f64,
    /// The task has no probe suite: what the official one lets pass survives.
    pub unprobed: bool,
    pub counts: MutationCounts,
    /// Killed of what the official suite lets pass, equivalent ones aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// By file and line.
    pub mutants: Vec<GradedMutant>,
    pub wrong_marks: Vec<WrongMark>,
}

impl Mutation {
    pub fn of(&self, result: MutantResult) -> impl Iterator<Item = &GradedMutant> {
        self.mutants.iter().filter(move |m| m.result == result)
    }
}
