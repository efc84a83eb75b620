//! `infradev hollow TASK`: the hollow patch of a task, made from base and gold.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::args::HollowArgs;
use super::context::Context;
use super::exit::{Exit, Failure};
use super::output::{self, line, safe};
use super::sources::{self, count};
use super::table::{by_file, paragraph, table};
use crate::domain::Task;
use crate::domain::acceptance::Standing;
use crate::environment::{Compiled, compile};
use crate::pipeline::{Freshness, freshness, recorded_works};
use crate::python::Source;
use crate::python::hollow::{Hollow, Kept, Raised, Rule, Unparsed, Works, hollow_but};

/// Where the patch is kept, in the task's folder.
const FILE: &str = "hollow.patch";

#[derive(Serialize, JsonSchema)]
pub struct HollowDocument {
    pub schema: u32,
    pub task: String,
    pub rule: Rule,
    pub raised: Vec<Raised>,
    /// New and changed functions that keep their body, and why.
    pub kept: Vec<Kept>,
    /// A verify run has collected the tests with it; else what runs at import was only read.
    pub import_tried: bool,
    /// Files that stay as in gold because they could not be read.
    pub unparsed: Vec<Unparsed>,
    /// The Python files that differ from base, compiled.
    pub compiled: Compiled,
    pub patch: HollowPatch,
}

#[derive(Serialize, JsonSchema)]
pub struct HollowPatch {
    /// In the task's folder.
    pub path: String,
    pub state: PatchState,
    pub files: usize,
    pub bytes: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PatchState {
    /// It was written now.
    Written,
    /// What is in the folder is the same.
    Same,
    /// What is in the folder is another, and was left.
    Differs,
    /// There is none in the folder.
    Missing,
}

pub fn run(context: &Context, args: &HollowArgs) -> Result<Exit, Failure> {
    let (task, versions) = sources::open(context, &args.task)?;
    let gold = versions.gold()?;
    let tried =
        matches!(freshness(&task), Freshness::Fresh(standing) if standing != Standing::Unprobed);
    let works = if tried {
        recorded_works(&task)
    } else {
        Works::new()
    };
    let made = hollow_but(&versions.base()?, &gold, &works);
    let sources: BTreeMap<&str, Source<'_>> = made
        .changed
        .iter()
        .filter_map(|path| {
            let bytes = made.files.get(path).or_else(|| gold.get(path))?;
            Some((path.as_str(), Source::decode(bytes).ok()?))
        })
        .collect();
    let texts: BTreeMap<&str, &str> = sources.iter().map(|(p, s)| (*p, &*s.text)).collect();
    let version = task.spec.environment.python.as_deref();
    let version = version.filter(|v| v.starts_with(|c: char| c.is_ascii_digit()));
    let compiled = compile(&texts, version, context.home_path());
    let patch = versions.patch(&made.files)?;
    let state = keep(&task, &patch.patch, args.write && !made.raised.is_empty())?;
    let ok = compiled.failed.is_empty() && !made.raised.is_empty();
    let document = HollowDocument {
        schema: 1,
        task: task.id().into(),
        rule: made.rule,
        raised: made.raised.clone(),
        kept: made.kept.clone(),
        import_tried: tried,
        unparsed: made.unparsed.clone(),
        compiled,
        patch: HollowPatch {
            path: FILE.into(),
            state,
            files: patch.files.len(),
            bytes: patch.patch.len(),
        },
    };
    if args.json {
        output::document(&document)?;
    } else {
        show(&made, &document);
    }
    Ok(if ok { Exit::Yes } else { Exit::No })
}

/// Compares with the patch in the task's folder, and writes it where that is asked for.
fn keep(task: &Task, patch: &[u8], write: bool) -> Result<PatchState, Failure> {
    let path = task.path(FILE);
    let wrong = |e: std::io::Error| Failure::input(format!("{}: {e}", path.display()));
    match std::fs::read(&path) {
        Ok(there) if there == patch => return Ok(PatchState::Same),
        Ok(_) if !write => return Ok(PatchState::Differs),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && !write => {
            return Ok(PatchState::Missing);
        }
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(wrong(e)),
        _ => {}
    }
    let part = task.path(".hollow.patch.part");
    std::fs::write(&part, patch)
        .and_then(|()| std::fs::rename(&part, &path))
        .map_err(wrong)?;
    Ok(PatchState::Written)
}

fn show(made: &Hollow, document: &HollowDocument) {
    let rule = match made.rule {
        Rule::New => "new functions raise",
        Rule::Changed => "the change adds no function that could raise: changed functions do",
    };
    line(&format!(
        "{}: {} of gold raise, {} kept ({rule})",
        safe(&document.task),
        count(made.raised.len(), "function"),
        made.kept.len()
    ));
    if !made.raised.is_empty() {
        line("\nraise");
        let rows = made.raised.iter().map(|r| {
            let rest = vec![r.line.to_string(), r.function.clone()];
            (r.path.as_str(), rest)
        });
        by_file(rows);
    }
    if !made.kept.is_empty() {
        line("\nkeep their body");
        let rows = made.kept.iter().map(|k| {
            let why = match &k.note {
                Some(note) => format!("{} ({note})", k.why.words()),
                None => k.why.words().to_owned(),
            };
            (
                k.path.as_str(),
                vec![k.line.to_string(), k.function.clone(), why],
            )
        });
        by_file(rows);
    }
    if !made.unparsed.is_empty() {
        line("\nas in gold, because they could not be read");
        let rows: Vec<Vec<String>> = made
            .unparsed
            .iter()
            .map(|u| vec![u.path.clone(), u.why.clone()])
            .collect();
        table("  ", &rows);
    }
    line("");
    let compiled = &document.compiled;
    let files = count(compiled.files, "changed Python file");
    match &compiled.by {
        None => line(&format!(
            "{files}: no interpreter here to compile them; the parser finds no error"
        )),
        Some(by) if compiled.failed.is_empty() => line(&format!("{files} compile with {by}")),
        Some(by) => {
            line(&format!(
                "{} of {files} do not compile with {by}",
                compiled.failed.len()
            ));
            let rows: Vec<Vec<String>> = compiled
                .failed
                .iter()
                .map(|f| vec![f.path.clone(), f.message.clone()])
                .collect();
            table("  ", &rows);
        }
    }
    if !document.import_tried {
        line("import was not tried: `infradev verify` does, and records what else has to work");
    }
    let patch = &document.patch;
    let what = format!(
        "{} ({}, {} bytes)",
        FILE,
        count(patch.files, "file"),
        patch.bytes
    );
    paragraph(
        &match patch.state {
            PatchState::Written => format!("{what}: written"),
            PatchState::Same => format!("{what}: the task has it already"),
            PatchState::Differs => {
                format!("{what}: the task has another; --write puts this one in its place")
            }
            PatchState::Missing => format!("{what}: the task has none; --write writes it"),
        },
        "  ",
    );
    if made.raised.is_empty() {
        line("no function raises: a hollow patch would be gold");
    }
}
