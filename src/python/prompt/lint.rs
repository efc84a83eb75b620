//! What is wrong with a prompt: what it leaves out, what it gives away, what nobody can tell.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::leaks::{GOLD, Leak, Sources, What, leaks};
use super::lexer::{prose, value};
use super::promises::claims;
use super::spans::spans;
use super::words::{checking, vague};
use crate::domain::TaskSpec;
use crate::python::contract::{Contract, State, Symbol};
use crate::python::files::{Files, changed_python, is_python};

pub struct LintInput<'a> {
    pub spec: &'a TaskSpec,
    pub prompt: &'a str,
    pub contract: &'a Contract,
    pub base: &'a Files,
    pub gold: &'a Files,
    pub official: &'a Files,
    pub probes: &'a Files,
    /// What base has in the folder of the official suite.
    pub base_tests: &'a Files,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    pub kind: FindingKind,
    /// Line of the prompt; absent: it is about what is not there, or about task.toml.
    pub line: Option<usize>,
    pub message: String,
    /// Where what is meant stands: `gold pkg/a.py:3`, `official tests/test_a.py:9`, `claim C2`.
    pub source: Option<String>,
    pub mend: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// A name that tests use and base does not have is not in the prompt.
    MissingSymbol,
    /// A number that stands in gold or in the tests, and not in base.
    Constant,
    Formula,
    Code,
    /// The name of a probe, or words about how it will be checked.
    Checking,
    /// A requirement that says nothing, or that can be read in several ways.
    Ambiguous,
    /// A claim that is probed, and has no place in the prompt.
    Unstated,
    /// A promise of the prompt with neither probe nor a reason why not.
    Unprobed,
    /// A constant is allowed in task.toml, and nothing needs that.
    UnneededAllowance,
}

impl FindingKind {
    pub fn words(self) -> &'static str {
        match self {
            Self::MissingSymbol => "missing name",
            Self::Constant => "constant",
            Self::Formula => "formula",
            Self::Code => "code",
            Self::Checking => "how it is checked",
            Self::Ambiguous => "ambiguous",
            Self::Unstated => "claim without a place",
            Self::Unprobed => "promise without a probe",
            Self::UnneededAllowance => "allowance not needed",
        }
    }
}

/// Looks at a task's prompt. The findings are in the order of the prompt, those without a line last.
pub fn lint(input: &LintInput<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    missing(input, &mut found);
    given_away(input, &mut found);
    checking(input, &mut found);
    vague(input, &mut found);
    claims(input, &mut found);
    found.sort_by_key(|f| (f.line.unwrap_or(usize::MAX), f.kind));
    found
}

/// What a variant that is rendered gives away. What it leaves out, it leaves out on purpose.
pub fn lint_leaks(input: &LintInput<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    given_away(input, &mut found);
    checking(input, &mut found);
    found.retain(|f| f.kind != FindingKind::UnneededAllowance);
    found.sort_by_key(|f| (f.line.unwrap_or(usize::MAX), f.kind));
    found
}

fn missing(input: &LintInput<'_>, found: &mut Vec<Finding>) {
    // a word of a sentence is no name that is stated
    let spans = spans(input.prompt);
    let words: HashSet<&str> = (spans.code.iter())
        .flat_map(|(text, line)| prose(text, *line))
        .map(|t| t.text)
        .collect();
    let mut add = |symbol: &Symbol, what: String| {
        let used = symbol
            .uses
            .first()
            .map(|u| format!("{} {}:{}", u.suite, u.path, u.line));
        found.push(Finding {
            kind: FindingKind::MissingSymbol,
            line: None,
            message: format!("{what} is not in the prompt as code"),
            source: used,
            mend: "name it between backticks under Interface, with its signature".into(),
        });
    };
    let mut said: HashSet<&str> = HashSet::new();
    for symbol in &input.contract.symbols {
        if symbol.state == State::InBase {
            continue;
        }
        let last = symbol.last();
        let calls = last == "__call__" && input.prompt.contains("call");
        let shown = calls
            || special(last).is_some_and(|forms| {
                let code = spans.code.iter();
                // how it is used says that it is there
                code.map(|(text, _)| *text)
                    .any(|t| forms.iter().any(|f| t.contains(f)))
            });
        if !words.contains(last) && !shown {
            add(symbol, format!("{} {}", symbol.kind.name(), symbol.name));
            continue;
        }
        for keyword in symbol
            .keywords
            .iter()
            .filter(|k| !words.contains(k.as_str()))
        {
            add(symbol, format!("the keyword {keyword} of {}", symbol.name));
        }
        // a module that base does not have must be said, or nobody can import from it
        let mut module = symbol.name.rsplit_once('.').map(|(m, _)| m);
        while let Some(name) = module {
            let path = name.replace('.', "/");
            let file = |tree: &Files| {
                tree.contains_key(&format!("{path}.py"))
                    || tree.contains_key(&format!("{path}/__init__.py"))
            };
            let last = name.rsplit('.').next().unwrap_or(name);
            let new = file(input.gold) && !file(input.base);
            if new && !words.contains(last) && said.insert(name) {
                add(
                    symbol,
                    format!("the new module {name} of {}", symbol.last()),
                );
            }
            module = name.rsplit_once('.').map(|(m, _)| m);
        }
    }
}

fn given_away(input: &LintInput<'_>, found: &mut Vec<Finding>) {
    let changed: HashSet<String> = changed_python(input.base, input.gold).into_iter().collect();
    let other =
        |path: &String, bytes: &Vec<u8>| !is_python(path) && input.base.get(path) != Some(bytes);
    let gold: Files = (input.gold.iter())
        .filter(|(path, bytes)| changed.contains(*path) || other(path, bytes))
        .map(|(path, bytes)| (path.clone(), bytes.clone()))
        .collect();
    let allow = &input.spec.contract.allow;
    let sources = Sources {
        base: input.base,
        of: vec![
            (GOLD, &gold),
            ("official", input.official),
            ("probes", input.probes),
        ],
        signatures: (input.contract.symbols.iter())
            .map(|s| format!("{}{}", s.name, s.signature))
            .collect(),
        allowed: allow.iter().map(|a| a.constant.as_str()).collect(),
    };
    let (leaks, used) = leaks(input.prompt, &sources);
    for Leak {
        line,
        what,
        text,
        source,
    } in leaks
    {
        let (kind, mend) = match what {
            What::Constant => (
                FindingKind::Constant,
                "leave it out, or allow it with [[contract.allow]] and why it belongs to the interface",
            ),
            What::Formula => (
                FindingKind::Formula,
                "say what is required, not how it is computed",
            ),
            What::Code => (
                FindingKind::Code,
                "say what is required, not how it is written",
            ),
        };
        found.push(Finding {
            kind,
            line: Some(line),
            message: format!("`{text}` stands there too, and not in base"),
            source: Some(source),
            mend: mend.into(),
        });
    }
    for one in allow {
        let needed = |v: &str| used.contains(v);
        if !needed(&one.constant) && !value(&one.constant).is_some_and(|v| needed(&v)) {
            found.push(Finding {
                kind: FindingKind::UnneededAllowance,
                line: None,
                message: format!(
                    "{} is allowed, and the prompt gives no such constant away",
                    one.constant
                ),
                source: Some("task.toml".into()),
                mend: "remove its [[contract.allow]]".into(),
            });
        }
    }
}

/// How a prompt shows a special method; none: the name is none of Python's.
fn special(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "__init__" | "__new__" | "__repr__" | "__str__" | "__hash__" | "__eq__" => &[""],
        "__len__" => &["len("],
        "__getitem__" | "__setitem__" | "__delitem__" => &["["],
        "__enter__" | "__exit__" => &["with "],
        "__contains__" => &[" in "],
        "__iter__" | "__next__" => &["for ", "iter(", "next("],
        "__bool__" => &["bool("],
        _ => return None,
    })
}
