//! Probes that no must-fail twin guards. Each file of the suite is read as Python for that: it is for
//! who asks for a check or a verify, and no part of loading a task.

use std::collections::HashMap;

use super::check::Checker;
use super::claims::qualified;
use super::locate::Step::{self, Index, Key};
use super::problem::{Problem, Severity};
use crate::domain::{CaseId, Task};
use crate::python::{has_twin, twin};

/// A probe without a twin.
pub struct Untwinned<'t> {
    pub probe: &'t str,
    pub why: String,
    /// Where task.toml names it.
    at: Vec<Step<'static>>,
}

/// Of a task that loads without an error: problems with its mapped probes and guards.
pub fn untwinned(task: &Task) -> Vec<Problem> {
    let mut problems = Vec::new();
    let text = std::fs::read_to_string(task.dir.join("task.toml")).unwrap_or_default();
    let mut c = Checker::of(task, &text, &mut problems);
    for Untwinned { probe, why, at } in without_twin(task) {
        c.add(
            Severity::Warning,
            &at,
            format!("probe {probe:?} has no must-fail twin: {why}"),
            "write it as a function or method test…, so that a runner that is patched for it is seen",
        );
    }
    problems
}

/// A task's mapped probes and guards without a twin. Reads each file that they name once.
pub fn without_twin(task: &Task) -> Vec<Untwinned<'_>> {
    let Some((from, into)) = (task.spec.suites.probes.as_ref())
        .and_then(|suite| Some((suite.from.as_ref()?, suite.into.as_str())))
    else {
        return Vec::new();
    };
    // by file, or why it cannot be read
    let mut twins: HashMap<String, Result<Vec<String>, String>> = HashMap::new();
    let mut why = |probe: &str| {
        let file = CaseId(probe.into()).file().to_owned();
        let known = twins.entry(file).or_insert_with_key(|file| {
            let inside = file.strip_prefix(into).unwrap_or(file);
            let path = task.dir.join(from).join(inside.trim_start_matches('/'));
            let source = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
            let twin = twin(&source, "").map_err(|e| e.to_string())?;
            Ok(twin.functions)
        });
        let name = qualified(probe);
        match known {
            Ok(known) if has_twin(&name, |n| known.iter().any(|f| f == n)) => None,
            Ok(_) => Some("its name is none of a test's (`test…`)".to_owned()),
            Err(e) => Some(format!("its file is not read: {e}")),
        }
    };
    let mapped = task.spec.claims.iter().enumerate().flat_map(|(i, claim)| {
        let probes = claim.probes.iter().enumerate();
        probes.map(move |(j, probe)| {
            let at = vec![Key("claims"), Index(i), Key("probes"), Index(j)];
            (probe.as_str(), at)
        })
    });
    let guards = task.spec.guards.iter().enumerate().map(|(i, guard)| {
        let at = vec![Key("guards"), Index(i), Key("probe")];
        (guard.probe.as_str(), at)
    });
    mapped
        .chain(guards)
        .filter_map(|(probe, at)| {
            let why = why(probe)?;
            Some(Untwinned { probe, why, at })
        })
        .collect()
}
