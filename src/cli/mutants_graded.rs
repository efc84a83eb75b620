//! `infradev mutants TASK --grade`: what both suites make of gold's mutants.

use std::collections::BTreeMap;

use super::args::{MutantsArgs, Running};
use super::context::Context;
use super::exit::{Exit, Failure};
use super::made::{self, Record};
use super::output::{line, safe};
use super::table::{by_file, paragraph, table};
use crate::domain::acceptance::How;
use crate::domain::mutation::{GradedMutant, MutantResult};
use crate::domain::{CalibrationChoice, Mutation, MutationCounts, SuiteChoice, Work};
use crate::store::made_mutation;

pub fn run(context: &Context, args: &MutantsArgs) -> Result<Exit, Failure> {
    let running = Running {
        suite: SuiteChoice::All,
        engine: args.engine,
        ranks: args.ranks,
        calibration: CalibrationChoice::Auto,
        detach: args.detach,
        json: args.json,
    };
    let record = Record {
        there: |state| state.mutants.is_some(),
        read: made_mutation,
        show,
    };
    made::run(context, &args.task, Work::Mutants, &running, &record)
}

/// As people read it: counts by operator, the score, what survives, what is marked.
pub(super) fn show(made: &Mutation) {
    line(&format!(
        "{}  engine {}  environment {}",
        safe(&made.task),
        made.engine.name(),
        made.environment.get(..12).unwrap_or(&made.environment),
    ));
    line("");
    by_operator(made);
    line("");
    paragraph(&score(made), "");
    let by_crash = made.of(MutantResult::Killed).filter(|m| {
        let asserts = |how: How| how == How::Assertion;
        !m.killed_by.iter().any(|k| asserts(k.how))
    });
    match by_crash.count() {
        0 => {}
        n => paragraph(
            &format!("of the killed, {n} by no assertion: a crash or a timeout alone"),
            "",
        ),
    }
    list("survivors", made.of(MutantResult::Survives), survivor);
    list(
        "marked as equivalent",
        made.of(MutantResult::Equivalent),
        |m| {
            let why = m.equivalent.as_deref().unwrap_or_default();
            format!("{} ({why})", m.name)
        },
    );
    if !made.wrong_marks.is_empty() {
        line("");
        line("warnings: marks that do not hold");
        let row =
            |w: &crate::domain::mutation::WrongMark| vec![format!("{}: {}", w.mutant, w.detail)];
        table("  ", &made.wrong_marks.iter().map(row).collect::<Vec<_>>());
    }
}

fn by_operator(made: &Mutation) {
    let mut operators: BTreeMap<&str, Vec<&GradedMutant>> = BTreeMap::new();
    for mutant in &made.mutants {
        operators.entry(&mutant.operator).or_default().push(mutant);
    }
    let row = |name: &str, counts: MutationCounts, all: usize| {
        let counts = MutantResult::ALL.map(|result| counts.get(result).to_string());
        let mut row = vec![name.to_owned(), all.to_string()];
        row.extend(counts);
        row
    };
    let mut head = vec!["operator".to_owned(), "mutants".to_owned()];
    head.extend(MutantResult::ALL.map(|r| r.words().to_owned()));
    let mut rows = vec![head];
    for (name, mutants) in operators {
        let counts = MutationCounts::of(mutants.iter().copied());
        rows.push(row(name, counts, mutants.len()));
    }
    rows.push(row("all", made.counts, made.mutants.len()));
    table("", &rows);
}

fn score(made: &Mutation) -> String {
    let counts = made.counts;
    let Some(score) = made.score else {
        return "no mutation score: the official suite lets none pass that is not equivalent"
            .into();
    };
    let unprobed = if made.unprobed {
        "; the task has no probes"
    } else {
        ""
    };
    format!(
        "mutation score {:.1} %: {} killed of {} that the official suite lets pass, {} equivalent aside{unprobed}",
        score * 100.0,
        counts.killed,
        counts.judged(),
        counts.equivalent
    )
}

fn survivor(m: &GradedMutant) -> String {
    let guards = match m.guards.as_slice() {
        [] => String::new(),
        guards => format!(" (only guards reject it: {})", guards.join(", ")),
    };
    format!("{}: {}{guards}", m.name, m.summary)
}

fn list<'m>(
    title: &str,
    mutants: impl Iterator<Item = &'m GradedMutant>,
    words: impl Fn(&GradedMutant) -> String,
) {
    let rows: Vec<(String, String)> = mutants
        .map(|m| (format!("{}:{}", m.path, m.line), words(m)))
        .collect();
    if rows.is_empty() {
        return;
    }
    line("");
    line(title);
    by_file(
        rows.iter()
            .map(|(place, words)| (place.as_str(), vec![words.clone()])),
    );
}
