//! Probes that no must-fail twin guards. Each file of the suite is read as Python for that: it is for
//! who asks for a check, and no part of loading a task.

use std::collections::HashMap;

use super::check::Checker;
use super::claims::qualified;
use super::locate::Step::{Index, Key};
use super::problem::{Problem, Severity};
use crate::domain::{CaseId, Task};
use crate::python::{has_twin, twin};

/// Of a task that loads without an error: its mapped probes and guards without a twin.
pub fn untwinned(task: &Task) -> Vec<Problem> {
    let mut problems = Vec::new();
    let Some((from, into)) = (task.spec.suites.probes.as_ref())
        .and_then(|suite| Some((suite.from.as_ref()?, suite.into.as_str())))
    else {
        return problems;
    };
    let text = std::fs::read_to_string(task.dir.join("task.toml")).unwrap_or_default();
    let mut c = Checker::of(task, &text, &mut problems);
    // by file, or why it cannot be read
    let mut twins: HashMap<String, Result<Vec<String>, String>> = HashMap::new();
    let mut check = |at: &[_], probe: &str| {
        let file = CaseId(probe.into()).file().to_owned();
        let known = twins.entry(file).or_insert_with_key(|file| {
            let inside = file.strip_prefix(into).unwrap_or(file);
            let path = task.dir.join(from).join(inside.trim_start_matches('/'));
            let source = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
            let twin = twin(&source, "").map_err(|e| e.to_string())?;
            Ok(twin.functions)
        });
        let name = qualified(probe);
        let why = match known {
            Ok(known) if has_twin(&name, |n| known.iter().any(|f| f == n)) => return,
            Ok(_) => "its name is none of a test's (`test…`)".to_owned(),
            Err(e) => format!("its file is not read: {e}"),
        };
        c.add(
            Severity::Warning,
            at,
            format!("probe {probe:?} has no must-fail twin: {why}"),
            "write it as a function or method test…, so that a runner that is patched for it is seen",
        );
    };
    for (i, claim) in task.spec.claims.iter().enumerate() {
        for (j, probe) in claim.probes.iter().enumerate() {
            check(&[Key("claims"), Index(i), Key("probes"), Index(j)], probe);
        }
    }
    for (i, guard) in task.spec.guards.iter().enumerate() {
        check(&[Key("guards"), Index(i), Key("probe")], &guard.probe);
    }
    problems
}
