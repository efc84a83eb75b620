//! The mutants of a task's gold, as trees.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use crate::domain::Task;
use crate::domain::acceptance::{Passed, Role};
use crate::domain::mutation::{GradedMutant, MutantResult};
use crate::environment::compile;
use crate::pipeline::error::Stop;
use crate::pipeline::trees::Trees;
use crate::pipeline::verify::Candidate;
use crate::python::mutants::{Mutant, mutants};
use crate::workspace::Versions;

/// All of them, compiled or not.
pub(in crate::pipeline) fn mutants_of(trees: &Trees, task: &Task) -> Result<Vec<Mutant>, Stop> {
    let versions = Versions::of(task, trees.sources()).map_err(fault)?;
    let (base, gold) = (versions.base(), versions.gold());
    Ok(mutants(&base.map_err(fault)?, &gold.map_err(fault)?).mutants)
}

/// Gold, and each mutant that an interpreter compiles, in the order of the list.
pub(super) fn candidates(
    trees: &Trees,
    task: &Task,
    home: &Path,
) -> Result<(Vec<GradedMutant>, Vec<Candidate>), Stop> {
    let all = mutants_of(trees, task)?;
    let texts: BTreeMap<&str, &str> = (all.iter())
        .map(|m| (m.name.as_str(), m.text.as_str()))
        .collect();
    let failed = compile(&texts, None, home).failed;
    let failed: HashSet<&str> = failed.iter().map(|f| f.path.as_str()).collect();
    let candidate = |role, name: &str, tree| Candidate {
        role,
        name: name.to_owned(),
        claim: None,
        hollow: None,
        tree: Ok(tree),
    };
    let mut mutants = Vec::new();
    let mut candidates = vec![candidate(Role::Gold, "", trees.gold)];
    for m in all.iter().filter(|m| !failed.contains(m.name.as_str())) {
        let file = (m.path.clone(), m.text.clone().into_bytes());
        let tree = trees.snapshot.with_files(trees.gold, &[file]);
        candidates.push(candidate(Role::Mutant, &m.name, tree.map_err(fault)?));
        mutants.push(not_graded(m));
    }
    Ok((mutants, candidates))
}

fn not_graded(m: &Mutant) -> GradedMutant {
    GradedMutant {
        name: m.name.clone(),
        operator: m.operator.name().to_owned(),
        path: m.path.clone(),
        function: m.function.clone(),
        line: m.line,
        summary: m.summary.clone(),
        // until it ran
        result: MutantResult::OfficialRejects,
        official: Passed { passed: 0, of: 0 },
        refused: None,
        killed_by: Vec::new(),
        guards: Vec::new(),
        equivalent: None,
    }
}

#[allow(clippy::needless_pass_by_value)] // map_err gives it away
fn fault(e: impl std::fmt::Display) -> Stop {
    Stop::Fault(format!("mutants: {e}"))
}
