//! What is wrong with a prompt: what it leaves out, what it gives away, what nobody can tell.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::leaks::{Leak, Sources, What, leaks};
use super::lexer::{prose, value};
use super::sections::{Variant, belongs, sections};
use crate::domain::{CaseId, TaskSpec};
use crate::python::contract::{Contract, State, Symbol};
use crate::python::files::{Files, changed_python};

pub struct LintInput<'a> {
    pub spec: &'a TaskSpec,
    pub prompt: &'a str,
    pub contract: &'a Contract,
    pub base: &'a Files,
    pub gold: &'a Files,
    pub official: &'a Files,
    pub probes: &'a Files,
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

/// Words about the judge.
const CHECKING: &[&str] = &[
    "probe",
    "probes",
    "hidden test",
    "hidden tests",
    "graded",
    "grading",
    "grader",
    "adversarial",
    "will be checked",
    "will be tested",
    "tolerance of",
    "within a tolerance",
    "rtol",
    "atol",
];

/// Words that leave open what is asked for.
const VAGUE: &[&str] = &[
    "todo",
    "tbd",
    "fixme",
    "???",
    "etc.",
    "and so on",
    "as appropriate",
    "appropriately",
    "reasonable",
    "reasonably",
    "if possible",
    "where possible",
    "as needed",
    "properly",
    "efficiently",
    "fast enough",
    "maybe",
    "somehow",
    "should probably",
];

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

fn missing(input: &LintInput<'_>, found: &mut Vec<Finding>) {
    let words: HashSet<&str> = prose(input.prompt, 1).iter().map(|t| t.text).collect();
    let mut add = |symbol: &Symbol, what: String| {
        let used = symbol
            .uses
            .first()
            .map(|u| format!("{} {}:{}", u.suite, u.path, u.line));
        found.push(Finding {
            kind: FindingKind::MissingSymbol,
            line: None,
            message: format!("{what} is not in the prompt"),
            source: used,
            mend: "name it under Interface, with its signature".into(),
        });
    };
    let mut said: HashSet<&str> = HashSet::new();
    for symbol in &input.contract.symbols {
        if symbol.state == State::InBase {
            continue;
        }
        if !words.contains(symbol.last()) && !symbol.last().starts_with("__") {
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
    let gold: Files = (input.gold.iter())
        .filter(|(path, _)| changed.contains(*path))
        .map(|(path, bytes)| (path.clone(), bytes.clone()))
        .collect();
    let allow = &input.spec.contract.allow;
    let sources = Sources {
        base: input.base,
        of: vec![
            ("gold", &gold),
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
        if value(&one.constant).is_none_or(|v| !used.contains(&v)) {
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

fn checking(input: &LintInput<'_>, found: &mut Vec<Finding>) {
    let probes: HashSet<String> = (input.spec.claims.iter())
        .flat_map(|c| c.probes.iter())
        .chain(input.spec.guards.iter().map(|g| &g.probe))
        .map(|p| {
            let function = CaseId(p.clone()).function().to_owned();
            function.rsplit("::").next().unwrap_or_default().to_owned()
        })
        .collect();
    for (index, text) in input.prompt.lines().enumerate() {
        let mut add = |what: String| {
            found.push(Finding {
                kind: FindingKind::Checking,
                line: Some(index + 1),
                message: what,
                source: None,
                mend: "say what is required, not how it will be checked".into(),
            });
        };
        for token in prose(text, 1) {
            if probes.contains(token.text) {
                add(format!("names the probe {}", token.text));
            }
        }
        if let Some(word) = phrase(text, CHECKING) {
            add(format!("says {word:?}"));
        }
    }
}

fn vague(input: &LintInput<'_>, found: &mut Vec<Finding>) {
    let mut add = |line: usize, message: String, mend: &str| {
        found.push(Finding {
            kind: FindingKind::Ambiguous,
            line: Some(line),
            message,
            source: None,
            mend: mend.into(),
        });
    };
    for (index, text) in input.prompt.lines().enumerate() {
        if let Some(word) = phrase(text, VAGUE) {
            let message = format!("{word:?} can be read in several ways");
            add(
                index + 1,
                message,
                "say exactly what is required, or leave it out",
            );
        }
        if ["-", "*"].contains(&text.trim()) {
            add(index + 1, "an empty item".into(), "fill it, or remove it");
        }
    }
    for section in sections(input.prompt) {
        let body = section
            .text
            .lines()
            .skip(usize::from(!section.title.is_empty()));
        if body.into_iter().all(|l| l.trim().is_empty()) && !section.title.is_empty() {
            let message = format!("the section {:?} is empty", section.title);
            add(section.line, message, "fill it, or remove it");
        }
    }
}

fn phrase<'p>(text: &str, phrases: &[&'p str]) -> Option<&'p str> {
    let text = text.to_lowercase();
    let boundary = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
    phrases.iter().copied().find(|p| {
        text.match_indices(p).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + p.len()..].chars().next();
            boundary(before) && boundary(after)
        })
    })
}

fn claims(input: &LintInput<'_>, found: &mut Vec<Finding>) {
    let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for claim in &input.spec.claims {
        let at = Some(format!("claim {}", claim.id));
        if claim.prompt.is_none() && !claim.probes.is_empty() {
            found.push(Finding {
                kind: FindingKind::Unstated,
                line: None,
                message: format!("{} is probed, and the prompt states it nowhere", claim.id),
                source: at.clone(),
                mend: "state it, and quote it in the claim as prompt = \"…\"".into(),
            });
        }
        if claim.prompt.is_some() && claim.probes.is_empty() && claim.unmeasured.is_none() {
            found.push(Finding {
                kind: FindingKind::Unprobed,
                line: None,
                message: format!(
                    "{} is promised, with neither probe nor a reason why not",
                    claim.id
                ),
                source: at,
                mend: "map probes to it, or add unmeasured = \"<reason>\"".into(),
            });
        }
    }
    // every topic of the required behaviour belongs to a claim
    for section in sections(input.prompt) {
        if belongs(section.title) != Some(Variant::Behaviour)
            || !section.title.to_lowercase().contains("behavio")
        {
            continue;
        }
        for (title, line, text) in topics(section.text, section.line) {
            let text = squeeze(text);
            let quoted = (input.spec.claims.iter())
                .filter_map(|c| c.prompt.as_deref())
                .any(|quote| text.contains(&squeeze(quote)));
            if !quoted {
                found.push(Finding {
                    kind: FindingKind::Unprobed,
                    line: Some(line),
                    message: format!("no claim quotes what is required under {title:?}"),
                    source: None,
                    mend: "make it a claim with probes, or with unmeasured = \"<reason>\"; or quote it in the claim that it belongs to".into(),
                });
            }
        }
    }
}

/// The topics of a section: each begins with a paragraph that has a bold beginning, or with a
/// heading of the third level. What stands before the first is none.
fn topics(section: &str, first_line: usize) -> Vec<(String, usize, &str)> {
    let mut starts: Vec<(usize, usize, String)> = Vec::new();
    let mut at = 0;
    for (index, line) in section.split_inclusive('\n').enumerate() {
        let bold = line
            .strip_prefix("**")
            .and_then(|rest| rest.split_once("**"))
            .map(|(title, _)| title);
        let heading = line.strip_prefix("### ");
        if let Some(title) = bold.or(heading) {
            let title = title.trim().trim_end_matches('.').to_owned();
            starts.push((at, first_line + index, title));
        }
        at += line.len();
    }
    let ends: Vec<usize> = starts.iter().skip(1).map(|s| s.0).chain([at]).collect();
    starts
        .into_iter()
        .zip(ends)
        .map(|((start, line, title), end)| (title, line, &section[start..end]))
        .collect()
}
