//! What a person signs: a claim, the probes that are mapped to it, and their sources.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::domain::task::Claim;
use crate::domain::{CaseId, Task, hex};
use crate::python::{Module, code};

/// Hash of every claim's words with its mapping and the code of its probes, by the claim's id. What
/// probes share (helpers, fixtures) is no part of it.
pub fn mapping_hashes(task: &Task) -> BTreeMap<String, String> {
    let all = task.spec.claims.iter();
    all.map(|claim| (claim.id.clone(), hash(task, claim)))
        .collect()
}

fn hash(task: &Task, claim: &Claim) -> String {
    let mut probes: Vec<(&str, String)> = (claim.probes.iter())
        .map(|probe| (probe.as_str(), source(task, probe)))
        .collect();
    // the order in which they are listed says nothing
    probes.sort();
    let signed = (
        (&claim.id, &claim.text, claim.kind, &claim.observable),
        (&claim.oracles, &claim.modes),
        probes,
    );
    let text = serde_json::to_vec(&signed).unwrap_or_default();
    hex(&Sha256::digest(text))
}

/// The code of a probe function with its decorators, comments aside; of one that cannot be found,
/// its whole file.
fn source(task: &Task, probe: &str) -> String {
    let file = CaseId(probe.to_owned()).file().to_owned();
    let suite = task.spec.suites.probes.as_ref();
    let text = suite
        .and_then(|s| {
            let inside = file.strip_prefix(s.into.as_str())?.strip_prefix('/')?;
            let path = task.path(s.from.as_deref()?).join(inside);
            std::fs::read_to_string(path).ok()
        })
        .unwrap_or_default();
    let name = probe.split_once("::").map_or("", |(_, name)| name);
    let name = name.replace("::", ".");
    let Ok(module) = Module::parse(&text) else {
        return text.clone();
    };
    let found = module.functions().into_iter().find(|f| f.name == name);
    found.map_or_else(|| text.clone(), |f| code(&module, &f))
}
