//! Gold's mutants: which the official suite rejects, which the probes kill, which survive.

use super::evidence::{PatchEvidence, collected, outcomes};
use super::matrix::Functions;
use crate::domain::acceptance::Role;
use crate::domain::mutation::{
    GradedMutant, Killer, MUTATION_VERSION, MutantResult, Mutation, MutationCounts, WrongMark,
};
use crate::domain::task::TaskSpec;
use crate::domain::{EngineKind, Outcome, Suite};

/// Where and under what it was found.
#[derive(Clone, Debug)]
pub struct MutationAbout {
    pub run: String,
    pub engine: EngineKind,
    pub environment: String,
    pub created_s: f64,
}

/// Judges the mutants of a task. `mutants`: what is known of each but its result; `patches`: gold,
/// and what each of them did, by name. One without runs of the probes was not let through to them.
pub fn mutation(
    spec: &TaskSpec,
    mutants: Vec<GradedMutant>,
    patches: &[PatchEvidence],
    about: &MutationAbout,
) -> Mutation {
    let judged = Judged::of(spec, patches);
    let mutants: Vec<GradedMutant> = mutants.into_iter().map(|m| judged.mutant(m)).collect();
    let counts = MutationCounts::of(&mutants);
    Mutation {
        schema: MUTATION_VERSION,
        task: spec.id.clone(),
        run: about.run.clone(),
        engine: about.engine,
        environment: about.environment.clone(),
        created_s: about.created_s,
        unprobed: spec.suites.probes.is_none(),
        score: counts.score(),
        wrong_marks: wrong_marks(spec, &mutants),
        counts,
        mutants,
    }
}

/// Whether a patch scores no worse than gold on the official suite.
pub fn passes_official(gold: &PatchEvidence, patch: &PatchEvidence) -> bool {
    let cases = collected(gold, Suite::Official);
    let runs = gold.by_case(Suite::Official);
    let passed = cases
        .iter()
        .filter(|id| !runs.is_empty() && outcomes(&runs, id).all(Outcome::passed))
        .count();
    patch.refused.is_none() && patch.passed(Suite::Official, &cases).passed >= passed
}

struct Judged<'a> {
    spec: &'a TaskSpec,
    patches: &'a [PatchEvidence],
    gold: Option<&'a PatchEvidence>,
    functions: Functions<'a>,
}

impl<'a> Judged<'a> {
    fn of(spec: &'a TaskSpec, patches: &'a [PatchEvidence]) -> Self {
        let gold = patches.iter().find(|p| p.role == Role::Gold);
        let probes = gold.map(|g| collected(g, Suite::Probes));
        Self {
            spec,
            patches,
            gold,
            functions: Functions::of(spec, &probes.unwrap_or_default()),
        }
    }

    fn mutant(&self, mut mutant: GradedMutant) -> GradedMutant {
        let named = |p: &&PatchEvidence| p.role == Role::Mutant && p.name == mutant.name;
        let mark = self
            .spec
            .equivalent
            .iter()
            .find(|e| e.mutant == mutant.name);
        mutant.equivalent = mark.map(|e| e.why.clone());
        let (Some(gold), Some(patch)) = (self.gold, self.patches.iter().find(named)) else {
            mutant.result = MutantResult::OfficialRejects;
            return mutant;
        };
        mutant.refused.clone_from(&patch.refused);
        mutant.official = patch.passed(Suite::Official, &collected(gold, Suite::Official));
        if !passes_official(gold, patch) {
            mutant.result = MutantResult::OfficialRejects;
            return mutant;
        }
        for rejection in self.functions.rejections(patch) {
            if self.functions.guard(&rejection.function) {
                mutant.guards.push(rejection.function);
            } else {
                mutant.killed_by.push(Killer {
                    function: rejection.function,
                    how: rejection.how,
                });
            }
        }
        mutant.result = if !mutant.killed_by.is_empty() {
            MutantResult::Killed
        } else if mutant.equivalent.is_some() {
            MutantResult::Equivalent
        } else {
            MutantResult::Survives
        };
        mutant
    }
}

/// Marks of mutants that something rejects, or that are not there.
fn wrong_marks(spec: &TaskSpec, mutants: &[GradedMutant]) -> Vec<WrongMark> {
    let detail = |name: &str| {
        let Some(mutant) = mutants.iter().find(|m| m.name == name) else {
            return Some("no mutant of this task".to_owned());
        };
        match mutant.result {
            MutantResult::OfficialRejects => Some("the official suite rejects it".into()),
            MutantResult::Killed => {
                let first = mutant.killed_by.first()?;
                Some(format!(
                    "{} kills it by {}",
                    first.function,
                    first.how.words()
                ))
            }
            MutantResult::Survives | MutantResult::Equivalent => None,
        }
    };
    let marks = spec.equivalent.iter();
    marks
        .filter_map(|e| {
            Some(WrongMark {
                mutant: e.mutant.clone(),
                detail: detail(&e.mutant)?,
            })
        })
        .collect()
}
