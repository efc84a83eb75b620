//! Claims and the probes mapped to them.

use std::collections::HashSet;

use super::check::Checker;
use super::locate::Step;
use super::problem::Severity;
use crate::domain::task::stays_inside;
use crate::domain::{CaseId, Task};
use crate::python::twin;

use Step::{Index, Key};

pub(super) fn check_claims(c: &mut Checker<'_>, task: &Task) {
    let spec = &task.spec;
    c.unique(
        "claims",
        "id",
        spec.claims.iter().map(|claim| claim.id.as_str()),
    );
    c.unique(
        "guards",
        "probe",
        spec.guards.iter().map(|guard| guard.probe.as_str()),
    );
    let prompt = std::fs::read_to_string(task.prompt_path()).unwrap_or_default();
    let prompt = squeeze(&prompt);
    for (i, claim) in spec.claims.iter().enumerate() {
        let mut seen = HashSet::new();
        for (j, probe) in claim.probes.iter().enumerate() {
            let at = [Key("claims"), Index(i), Key("probes"), Index(j)];
            if !seen.insert(probe) {
                c.error(
                    &at,
                    format!("{probe:?} is listed twice"),
                    "remove one of the two",
                );
            }
            check_probe(c, task, &at, probe);
        }
        let at = [Key("claims"), Index(i)];
        if claim.probes.is_empty() && claim.unmeasured.is_none() && spec.suites.probes.is_some() {
            let message = format!("claim {} has neither probes nor a reason why not", claim.id);
            c.add(
                Severity::Warning,
                &at,
                message,
                "map probes to it, or add unmeasured = \"<reason>\"",
            );
        }
        if claim.oracles.len() == 1 && !claim.probes.is_empty() {
            let message = format!("claim {} rests on a single kind of oracle", claim.id);
            c.add(
                Severity::Warning,
                &at,
                message,
                "add a probe that expects its values from another source (an existing path, an invariance, a direct calculation, a property)",
            );
        }
        if let Some(quote) = &claim.prompt
            && !prompt.contains(&squeeze(quote))
        {
            let at = [Key("claims"), Index(i), Key("prompt")];
            c.error(
                &at,
                format!("prompt.md does not say {quote:?}"),
                "quote prompt.md word for word",
            );
        }
    }
    for (i, guard) in spec.guards.iter().enumerate() {
        check_probe(
            c,
            task,
            &[Key("guards"), Index(i), Key("probe")],
            &guard.probe,
        );
    }
}

fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A probe function must stand in the probe suite's tree.
fn check_probe(c: &mut Checker<'_>, task: &Task, at: &[Step<'_>], probe: &str) {
    let Some(suite) = &task.spec.suites.probes else {
        c.error(
            at,
            format!("{probe:?}, but the task has no probe suite"),
            "add [suites.probes]",
        );
        return;
    };
    let id = CaseId(probe.into());
    if id.function() != probe {
        c.error(
            at,
            format!("{probe:?} names one parameter set"),
            "name the probe function",
        );
        return;
    }
    let (Some(from), Some(inside)) = (
        &suite.from,
        id.file()
            .strip_prefix(suite.into.as_str())
            .and_then(|p| p.strip_prefix('/')),
    ) else {
        let message = format!("{probe:?} does not lie in {:?}", suite.into);
        c.error(at, message, "write it as <into>/<file>::<function>");
        return;
    };
    if !stays_inside(inside) {
        c.error(
            at,
            format!("{probe:?} leaves the suite"),
            "give a relative path without ..",
        );
        return;
    }
    let name = probe.rsplit("::").next().unwrap_or(probe);
    let source = std::fs::read_to_string(task.dir.join(from).join(inside)).unwrap_or_default();
    let defined = source.lines().any(|line| {
        let line = line.trim_start();
        let rest = line
            .strip_prefix("async ")
            .unwrap_or(line)
            .trim_start()
            .strip_prefix("def ");
        rest.and_then(|r| r.trim_start().strip_prefix(name))
            .is_some_and(|r| r.trim_start().starts_with('('))
    });
    // one that no `def` makes: reading the file as Python is dear, and seldom needed
    let made = || {
        let known = twin(&source, "").map(|twin| twin.functions);
        known.is_ok_and(|known| known.contains(&qualified(probe)))
    };
    if !defined && !made() {
        c.error(
            at,
            format!("no probe function {probe:?}"),
            "correct the name, or write the probe",
        );
    }
}

/// The name of a probe in its file: `A.test_x`.
pub(super) fn qualified(probe: &str) -> String {
    probe.split("::").skip(1).collect::<Vec<_>>().join(".")
}
