//! `infradev mutants TASK`: candidates for adversarial patches.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::args::MutantsArgs;
use super::context::Context;
use super::exit::{Exit, Failure};
use super::output::{self, line};
use super::sources::{self, count};
use super::table::{by_file, paragraph};
use crate::environment::{Compiled, compile};
use crate::python::Files;
use crate::python::hollow::Unparsed;
use crate::python::mutants::{Bare, Mutant, Operator, mutants};
use crate::workspace::Versions;

#[derive(Serialize, JsonSchema)]
pub struct MutantsDocument {
    pub schema: u32,
    pub task: String,
    pub mutants: Vec<MutantRow>,
    /// Hunks of gold in Python files, and those without a mutant.
    pub hunks: usize,
    pub bare: Vec<Bare>,
    pub unparsed: Vec<Unparsed>,
    /// All of them, compiled; what does not compile is no mutant.
    pub compiled: Compiled,
}

#[derive(Serialize, JsonSchema)]
pub struct MutantRow {
    /// The same for the same change of the same code.
    pub name: String,
    pub operator: Operator,
    pub path: String,
    /// Qualified; empty: outside functions.
    pub function: String,
    /// Line of gold.
    pub line: usize,
    pub summary: String,
}

impl From<&Mutant> for MutantRow {
    fn from(m: &Mutant) -> Self {
        Self {
            name: m.name.clone(),
            operator: m.operator,
            path: m.path.clone(),
            function: m.function.clone(),
            line: m.line,
            summary: m.summary.clone(),
        }
    }
}

pub fn run(context: &Context, args: &MutantsArgs) -> Result<Exit, Failure> {
    if args.grade {
        return super::mutants_graded::run(context, args);
    }
    let (task, versions) = sources::open(context, &args.task)?;
    let mut made = mutants(&versions.base()?, &versions.gold()?);
    let texts: BTreeMap<&str, &str> = (made.mutants.iter())
        .map(|m| (m.name.as_str(), m.text.as_str()))
        .collect();
    let compiled = compile(&texts, None, context.home_path());
    let bad: HashSet<&str> = compiled.failed.iter().map(|f| f.path.as_str()).collect();
    made.mutants.retain(|m| !bad.contains(m.name.as_str()));
    if let Some(dir) = &args.out {
        write(&versions, &made.mutants, dir)?;
    }
    let rows: Vec<MutantRow> = made.mutants.iter().map(MutantRow::from).collect();
    let any = !rows.is_empty();
    let document = MutantsDocument {
        schema: 1,
        task: task.id().into(),
        mutants: rows,
        hunks: made.hunks,
        bare: made.bare,
        unparsed: made.unparsed,
        compiled,
    };
    if args.json {
        output::document(&document)?;
    } else {
        show(&document, args.out.as_deref());
    }
    Ok(if any { Exit::Yes } else { Exit::No })
}

fn write(versions: &Versions, mutants: &[Mutant], dir: &Path) -> Result<(), Failure> {
    let wrong =
        |path: &Path, e: &std::io::Error| Failure::input(format!("{}: {e}", path.display()));
    std::fs::create_dir_all(dir).map_err(|e| wrong(dir, &e))?;
    for m in mutants {
        let over = Files::from([(m.path.clone(), m.text.clone().into_bytes())]);
        let patch = versions.patch(&over)?.patch;
        let path = dir.join(format!("{}.patch", m.name));
        std::fs::write(&path, patch).map_err(|e| wrong(&path, &e))?;
    }
    Ok(())
}

fn show(document: &MutantsDocument, out: Option<&Path>) {
    by_file(document.mutants.iter().map(|m| {
        let what = format!("{}: {}", m.name, m.summary);
        (m.path.as_str(), vec![m.line.to_string(), what])
    }));
    let mut by_operator: BTreeMap<&str, usize> = BTreeMap::new();
    for m in &document.mutants {
        *by_operator.entry(m.operator.name()).or_default() += 1;
    }
    let counts: Vec<String> = by_operator
        .iter()
        .map(|(o, n)| format!("{o} {n}"))
        .collect();
    paragraph(&counts.join(", "), "  ");
    let hunks = document.hunks - document.bare.len();
    let by = document
        .compiled
        .by
        .as_deref()
        .unwrap_or("the parser alone");
    let text = format!(
        "{}: {} in {hunks} of {}; compiled by {by}",
        document.task,
        count(document.mutants.len(), "mutant"),
        count(document.hunks, "hunk")
    );
    paragraph(&text, "  ");
    for bare in &document.bare {
        line(&format!(
            "  no mutant in {}:{}",
            output::safe(&bare.path),
            bare.from
        ));
    }
    if let Some(dir) = out {
        line(&format!("written as patches to {}", dir.display()));
    }
}
