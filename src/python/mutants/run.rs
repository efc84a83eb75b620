//! All mutants of a change.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::operators::{Edit, Operator, at};
use crate::diff::{DiffOptions, FileDiff};
use crate::domain::hex;
use crate::python::files::{Files, changed_python, is_python};
use crate::python::hollow::Unparsed;
use crate::python::symbols::{Module, children};

/// Changes of lines that are so near stand in one hunk of a patch.
const NEAR: u32 = 6;

/// Gold with one small wrong change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// `operator-file-function-hash`; the same for the same change of the same code.
    pub name: String,
    pub operator: Operator,
    pub path: String,
    /// Qualified; empty: outside functions.
    pub function: String,
    /// In gold.
    pub line: usize,
    pub summary: String,
    /// The file as it is with the change; put over gold's tree it makes the mutant.
    pub text: String,
}

/// A hunk of gold without a mutant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Bare {
    pub path: String,
    /// Lines of gold, from 1; the end is not in it.
    pub from: usize,
    pub to: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mutants {
    /// By file and line.
    pub mutants: Vec<Mutant>,
    /// Hunks of gold in Python files.
    pub hunks: usize,
    pub bare: Vec<Bare>,
    pub unparsed: Vec<Unparsed>,
}

/// Makes the mutants of a change: in every line that gold changed, everything that an operator can
/// do there and that is still Python.
pub fn mutants(base: &Files, gold: &Files) -> Mutants {
    let mut found = Mutants::default();
    let changed = changed_python(base, gold);
    // base itself is no mutant; one of several files as in base is
    let deleted: Vec<&String> = (base.keys())
        .filter(|path| is_python(path) && !gold.contains_key(*path))
        .collect();
    let alone = changed.len() + deleted.len() == 1;
    for path in deleted {
        removed(path, &base[path], alone, &mut found);
    }
    for path in changed {
        let Some(bytes) = gold.get(&path) else {
            continue;
        };
        let parsed = std::str::from_utf8(bytes)
            .map_err(|_| "not UTF-8".to_owned())
            .and_then(|text| Module::parse(text).map_err(|e| e.to_string()));
        let module = match parsed {
            Ok(module) => module,
            Err(why) => {
                found.unparsed.push(Unparsed { path, why });
                continue;
            }
        };
        let before = base.get(&path).map(Vec::as_slice);
        of_file(&path, before, alone, &module, &mut found);
    }
    found
}

/// A file that gold deletes is a hunk; left out, the file stays.
fn removed(path: &str, bytes: &[u8], alone: bool, found: &mut Mutants) {
    found.hunks += 1;
    let text = std::str::from_utf8(bytes).ok().filter(|_| !alone);
    let Some(text) = text else {
        found.bare.push(Bare {
            path: path.to_owned(),
            from: 1,
            to: 1,
        });
        return;
    };
    let edit = Edit {
        operator: Operator::RevertHunk,
        line: 1,
        range: 0..0,
        text: text.to_owned(),
        summary: "the file that gold deletes stays".into(),
    };
    found.mutants.push(Mutant {
        name: name(path, "", "", &edit),
        operator: edit.operator,
        path: path.to_owned(),
        function: String::new(),
        line: edit.line,
        summary: edit.summary,
        text: edit.text,
    });
}

/// A hunk: lines of base and of gold, from 0.
struct Hunk {
    old: Range<u32>,
    new: Range<u32>,
}

fn hunks(diff: &FileDiff) -> Vec<Hunk> {
    let mut found: Vec<Hunk> = Vec::new();
    for change in &diff.changes {
        match found.last_mut() {
            Some(last) if change.new.start.saturating_sub(last.new.end) <= NEAR => {
                last.old.end = change.old.end;
                last.new.end = change.new.end;
            }
            _ => found.push(Hunk {
                old: change.old.clone(),
                new: change.new.clone(),
            }),
        }
    }
    found
}

fn of_file(path: &str, base: Option<&[u8]>, alone: bool, module: &Module<'_>, found: &mut Mutants) {
    let text = module.text;
    let diff = FileDiff::new(base, Some(text.as_bytes()), DiffOptions::default());
    let changed: HashSet<usize> = diff
        .changes
        .iter()
        .flat_map(|c| c.new.clone())
        .map(|line| line as usize + 1)
        .collect();
    let mut edits = Vec::new();
    let mut stack = vec![module.root()];
    while let Some(node) = stack.pop() {
        if changed.contains(&(node.start_position().row + 1)) {
            edits.extend(at(module, node));
        }
        stack.extend(children(node));
    }
    let hunks = hunks(&diff);
    if let Ok(base) = std::str::from_utf8(base.unwrap_or_default()) {
        edits.extend(hunks.iter().map(|h| revert(base, text, h)));
    }
    edits.sort_by_key(|e| (e.line, e.range.start, e.operator));
    let functions = module.functions();
    let mut seen: HashSet<String> = HashSet::from([plain(text)]);
    if alone {
        seen.insert(plain(&String::from_utf8_lossy(base.unwrap_or_default())));
    }
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let mut lines = Vec::new();
    for edit in edits {
        let made = format!(
            "{}{}{}",
            &text[..edit.range.start],
            edit.text,
            &text[edit.range.end..]
        );
        if Module::parse(&made).is_err() || !seen.insert(plain(&made)) {
            continue;
        }
        let function = functions
            .iter()
            .rfind(|f| f.signature.start <= edit.range.start && edit.range.start < f.body.end)
            .map(|f| f.name.clone())
            .unwrap_or_default();
        let name = name(path, &function, text, &edit);
        let count = names.entry(name.clone()).or_default();
        *count += 1;
        let name = match *count {
            1 => name,
            n => format!("{name}-{n}"),
        };
        lines.push(edit.line);
        found.mutants.push(Mutant {
            name,
            operator: edit.operator,
            path: path.to_owned(),
            function,
            line: edit.line,
            summary: edit.summary,
            text: made,
        });
    }
    found.hunks += hunks.len();
    found.bare.extend(
        hunks
            .iter()
            .map(|h| (h.new.start as usize + 1, h.new.end as usize + 1))
            // what only removes lines has its mutant at the line behind
            .filter(|(from, to)| {
                !lines
                    .iter()
                    .any(|l| (*from..(*to).max(from + 1)).contains(l))
            })
            .map(|(from, to)| Bare {
                path: path.to_owned(),
                from,
                to,
            }),
    );
}

/// Base's lines in place of a hunk of gold.
fn revert(base: &str, gold: &str, hunk: &Hunk) -> Edit {
    let old = lines(base, &hunk.old);
    let new = lines(gold, &hunk.new);
    Edit {
        operator: Operator::RevertHunk,
        line: hunk.new.start as usize + 1,
        summary: format!(
            "lines: {} of gold left out, {} of base back",
            hunk.new.len(),
            hunk.old.len()
        ),
        text: base[old].to_owned(),
        range: new,
    }
}

/// A text without what says nothing: blank lines, comments that stand alone, white space at ends.
fn plain(text: &str) -> String {
    let lines = text.lines().map(str::trim_end);
    let kept = lines.filter(|l| !l.is_empty() && !l.trim_start().starts_with('#'));
    kept.flat_map(|l| [l, "\n"]).collect()
}

/// The bytes of some lines.
fn lines(text: &str, which: &Range<u32>) -> Range<usize> {
    let start_of = |line: u32| {
        let all = text.split_inclusive('\n').take(line as usize);
        all.map(str::len).sum::<usize>()
    };
    start_of(which.start)..start_of(which.end)
}

/// Another text is another name: a mark in task.toml excuses the text that its author has read.
pub(super) fn name(path: &str, function: &str, text: &str, edit: &Edit) -> String {
    let stem = path.rsplit('/').next().unwrap_or(path);
    let stem = stem.strip_suffix(".py").unwrap_or(stem);
    let last = function.rsplit('.').next().unwrap_or_default();
    let old = text.get(edit.range.clone()).unwrap_or_default();
    let line = text.lines().nth(edit.line - 1).unwrap_or_default().trim();
    let key = format!("{path}\0{function}\0{line}\0{old}\0{}", edit.text);
    let hash = hex(&Sha256::digest(key));
    let parts = [edit.operator.name(), stem, last, &hash[..6]];
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let parts: Vec<String> = parts
        .iter()
        .map(|p| p.chars().map(plain).collect::<String>())
        .map(|p| p.trim_matches('-').to_lowercase())
        .filter(|p| !p.is_empty())
        .collect();
    parts.join("-")
}
