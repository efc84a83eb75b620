//! Words of a prompt that say how it is checked, and words that say nothing.

use std::collections::HashSet;

use super::lexer::prose;
use super::lint::{Finding, FindingKind, LintInput};
use super::sections::sections;
use super::spans::marker;
use crate::domain::CaseId;
use crate::python::symbols::Module;

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
    "official test",
    "official tests",
];

/// Words that speak of the judge where a sentence is about the work.
const JUDGING: &[&str] = &[
    "compared with",
    "compared to",
    "compared against",
    "checked against",
    "measured against",
    "verified by",
    "verified against",
    "validated by",
    "validated against",
    "evaluated",
    "evaluation",
    "scored",
    "judged",
    "test suite that",
];

/// Their dot ends no sentence.
const SHORT: &[&str] = &["e.g.", "i.e.", "cf.", "vs.", "resp.", "approx."];

/// The work, and what only a judge has.
const JUDGED: &[&str] = &[
    "your",
    "you",
    "submission",
    "solution",
    "patch",
    "implementation",
    "gold",
    "official",
    "hidden",
    "secret",
    "results are",
    "result is",
    "outputs are",
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
    "edge case",
    "edge cases",
    "corner cases",
    "is fast",
    "be fast",
    "runs fast",
    "works well",
    "gracefully",
    "robust",
    "robustly",
    "sensible",
    "sensibly",
    "user-friendly",
    "best practices",
];

pub(super) fn checking(input: &LintInput<'_>, found: &mut Vec<Finding>) {
    let probes = probe_names(input);
    let paths = suite_paths(input);
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
        if let Some(path) = paths.iter().find(|p| text.contains(p.as_str())) {
            add(format!("names the suite's {path}"));
        }
        if let Some(word) = phrase(text, CHECKING) {
            add(format!("says {word:?}"));
        }
    }
    for (line, sentence) in sentences(input.prompt) {
        let word = phrase(&sentence, JUDGING).filter(|_| phrase(&sentence, JUDGED).is_some());
        if let Some(word) = word {
            found.push(Finding {
                kind: FindingKind::Checking,
                line: Some(line),
                message: format!("says {word:?} of the work"),
                source: None,
                mend: "say what is required, not how it will be checked".into(),
            });
        }
    }
}

/// Test functions of the probe suite, mapped or not, and the names of its files of tests.
fn probe_names(input: &LintInput<'_>) -> HashSet<String> {
    let mut found: HashSet<String> = (input.spec.claims.iter())
        .flat_map(|c| c.probes.iter())
        .chain(input.spec.guards.iter().map(|g| &g.probe))
        .map(|p| {
            let function = CaseId(p.clone()).function().to_owned();
            function.rsplit("::").next().unwrap_or_default().to_owned()
        })
        .collect();
    for (path, bytes) in input.probes {
        let Some(stem) = test_file(path) else {
            continue;
        };
        found.insert(stem.to_owned());
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        let functions = Module::parse(text).map(|m| m.functions());
        found.extend(functions.unwrap_or_default().into_iter().filter_map(|f| {
            let name = f.name.rsplit('.').next()?;
            // `test` alone is a word
            (!f.nested && name.starts_with("test_")).then(|| name.to_owned())
        }));
    }
    found
}

fn test_file(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.strip_suffix(".py")?;
    (stem.starts_with("test_") || stem.ends_with("_test")).then_some(stem)
}

/// The folder of the probes, and the files of official tests that came with the change.
fn suite_paths(input: &LintInput<'_>) -> Vec<String> {
    let suites = &input.spec.suites;
    let folder = |into: &str| format!("{}/", into.trim_matches('/'));
    let official = folder(&suites.official.into);
    let probes = suites.probes.as_ref().map(|p| folder(&p.into));
    // where both lie in one folder, it is no secret
    let mut found: Vec<String> = probes
        .filter(|p| {
            !official.starts_with(p.as_str())
                && !input.base.keys().any(|b| b.starts_with(p.as_str()))
        })
        .into_iter()
        .collect();
    let new = input
        .official
        .keys()
        .filter(|path| !input.base_tests.contains_key(*path));
    found.extend(new.filter_map(|path| Some(format!("{}.py", test_file(path)?))));
    found
}

/// Sentences of a prompt with their first lines. An item, a heading and a paragraph end one too.
pub(super) fn sentences(prompt: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let (mut open, mut fenced) = (false, false);
    for (index, line) in prompt.lines().enumerate() {
        let text = line.trim();
        let fence = text.starts_with("```") || text.starts_with("~~~");
        fenced ^= fence;
        if fence || fenced {
            open = false;
            continue;
        }
        let begins = text.is_empty() || text.starts_with('#') || marker(text) > 0;
        open &= !begins;
        let text = &text[marker(text)..];
        let mut from = 0;
        let ends = text.match_indices(['.', '!', '?']).map(|(at, _)| at + 1);
        let short = |at: &usize| SHORT.iter().any(|s| text[..*at].ends_with(s));
        let ends = ends
            .filter(|at| text[*at..].is_empty() || text[*at..].starts_with(' '))
            .filter(|at| !short(at));
        for end in ends.chain([text.len()]) {
            let part = text[from..end].trim();
            if !part.is_empty() {
                match found.last_mut().filter(|_| open) {
                    Some((_, sentence)) => {
                        sentence.push(' ');
                        sentence.push_str(part);
                    }
                    None => found.push((index + 1, part.to_owned())),
                }
                open = !part.ends_with(['.', '!', '?']);
            }
            from = end;
        }
    }
    found
}

pub(super) fn vague(input: &LintInput<'_>, found: &mut Vec<Finding>) {
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
