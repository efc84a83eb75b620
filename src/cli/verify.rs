//! `infradev verify TASK`: the acceptance rule by execution, as a matrix and as lists.

use super::args::{Running, VerifyArgs};
use super::context::Context;
use super::exit::{Exit, Failure};
use super::made::{self, Record};
use super::output::{line, safe};
use super::table::{paragraph, table};
use crate::domain::acceptance::{Finding, PatchRow, Role};
use crate::domain::{Acceptance, CalibrationChoice, SuiteChoice, Work};
use crate::store::made_acceptance;

pub fn run(context: &Context, args: &VerifyArgs) -> Result<Exit, Failure> {
    let running = Running {
        suite: SuiteChoice::All,
        engine: args.engine,
        ranks: args.ranks,
        calibration: CalibrationChoice::Auto,
        detach: args.detach,
        json: args.json,
    };
    let work = Work::Verify {
        runs: args.runs,
        again: Vec::new(),
        watch_s: args.watch.then_some(args.idle as u64),
    };
    let record = Record {
        there: |state| state.standing.is_some(),
        read: made_acceptance,
        show,
    };
    made::run(context, &args.task, work, &running, &record)
}

/// As people read it: the matrix, the rule, the lists.
pub(super) fn show(made: &Acceptance) {
    line(&format!(
        "{}  {}  engine {}  environment {}  gold runs {}{}",
        safe(&made.task),
        made.standing.name().to_uppercase(),
        made.engine.name(),
        made.environment.get(..12).unwrap_or(&made.environment),
        made.runs,
        made.ranks.map_or(String::new(), |n| format!("  ranks {n}"))
    ));
    line("");
    let head = [
        "patch",
        "violates",
        "official",
        "probes",
        "rejecting",
        "by",
        "of its claim",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(made.patches.iter().map(row));
    table("", &rows);
    line("");
    for rule in &made.rules {
        let mark = if rule.holds { "holds " } else { "BROKEN" };
        paragraph(&format!("{mark}  {}", rule.rule.words()), "        ");
        let evidence: Vec<Vec<String>> = rule.evidence.iter().map(|e| vec![e.clone()]).collect();
        table("          ", &evidence);
    }
    list("to revise", &made.revise);
    list("warnings (they never change the standing)", &made.warnings);
    line("");
    paragraph(
        &format!(
            "a case that was the same in {} runs may still flake up to {:.0} % of the time (95 % confidence)",
            made.runs,
            made.flake_bound * 100.0
        ),
        "",
    );
}

fn row(patch: &PatchRow) -> Vec<String> {
    let dash = || "–".to_owned();
    let refused = patch.refused.as_ref().map(|(cause, _)| cause.name());
    let count = |p: crate::domain::acceptance::Passed| format!("{}/{}", p.passed, p.of);
    let times = if patch.runs > 1 {
        format!(" ×{}", patch.runs)
    } else {
        String::new()
    };
    let own = match (&patch.claim, patch.role) {
        (Some(_), Role::Adversarial) => patch.by_its_claim().to_string(),
        _ => dash(),
    };
    vec![
        format!("{}{times}", patch.patch),
        patch.claim.clone().unwrap_or_else(dash),
        refused.map_or_else(|| count(patch.official), str::to_owned),
        refused.map_or_else(|| count(patch.probes), |_| dash()),
        patch.rejected_by.len().to_string(),
        patch.how().map_or_else(dash, |how| how.words().to_owned()),
        own,
    ]
}

fn list(title: &str, findings: &[Finding]) {
    if findings.is_empty() {
        return;
    }
    line("");
    line(title);
    let words = |f: &Finding| match f.detail.as_str() {
        "" => f.subject.clone(),
        detail => format!("{} ({detail})", f.subject),
    };
    let row = |f: &Finding| vec![f.kind.words().to_owned(), words(f)];
    table("  ", &findings.iter().map(row).collect::<Vec<_>>());
}
