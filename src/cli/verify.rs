//! `infradev verify TASK`: the acceptance rule by execution, as a matrix and as lists.

use super::args::{Running, VerifyArgs};
use super::context::Context;
use super::exit::{Exit, Failure};
use super::made::{self, Record};
use super::output::{line, safe};
use super::table::{paragraph, table};
use crate::domain::acceptance::{Finding, How, PatchRow, Role};
use crate::domain::{Acceptance, CalibrationChoice, Suite, SuiteChoice, Work};
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
    if let Some(why) = &made.provisional {
        line(&format!("PROVISIONAL: {}", safe(why)));
    }
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
    matrix(made);
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

/// Probe functions down, patches across: by what each rejects each.
fn matrix(made: &Acceptance) {
    let mut functions: Vec<&str> = Vec::new();
    for case in made.cases.get(&Suite::Probes).into_iter().flatten() {
        if !functions.contains(&case.function()) {
            functions.push(case.function());
        }
    }
    if functions.is_empty() {
        return;
    }
    line("");
    let plain = |function: &str| {
        let parts = function.rsplit_once(".py::");
        parts.map_or(function, |(_, name)| name).to_owned()
    };
    let name = |function: &str| {
        let own = plain(function);
        let alike = functions.iter().filter(|f| plain(f) == own).count();
        // two files may have the same
        match function.rsplit_once('/') {
            Some((_, below)) if alike > 1 => below.to_owned(),
            _ => own,
        }
    };
    // as many as have room beside the longest name
    let longest = functions.iter().map(|f| name(f).chars().count()).max();
    let room = WIDTH.saturating_sub(longest.unwrap_or(0) + 2);
    let places = (room / EACH).max(1);
    for (block, patches) in made.patches.chunks(places).enumerate() {
        let number = |at: usize| (block * places + at + 1).to_string();
        let mut head = vec!["probe".to_owned()];
        head.extend((0..patches.len()).map(number));
        let mut rows = vec![head];
        for function in &functions {
            let mut row = vec![name(function)];
            row.extend(patches.iter().map(|patch| cell(patch, function)));
            rows.push(row);
        }
        table("", &rows);
        let names = patches.iter().enumerate();
        let names: Vec<String> = names
            .map(|(at, patch)| format!("{} {}", number(at), safe(&patch.patch)))
            .collect();
        paragraph(&names.join(", "), "");
    }
    paragraph(
        ". accepts  A rejects by an assertion  E by an error  S in setup  C at collection  T by a timeout  s skips  - is missing; blank: nothing of the patch ran",
        "",
    );
}

/// Lines that a terminal of 100 columns shows.
const WIDTH: usize = 100;
/// A column and what parts it from the next.
const EACH: usize = 4;

fn cell(patch: &PatchRow, function: &str) -> String {
    if patch.refused.is_some() {
        return String::new();
    }
    let rejection = patch.rejected_by.iter().find(|r| r.function == function);
    let mark = rejection.map_or(".", |rejection| match rejection.how {
        How::Assertion => "A",
        How::Error => "E",
        How::Setup => "S",
        How::Collection => "C",
        How::Timeout => "T",
        How::Skipped => "s",
        How::Missing => "-",
    });
    mark.to_owned()
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
