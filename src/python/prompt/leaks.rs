//! Solution material in a prompt: constants, formulas and runs of code that stand in gold or in
//! the tests and not in base.

use std::collections::{HashMap, HashSet};

use super::lexer::{Token, TokenKind, prose, python, value};
use crate::python::files::{Files, is_python};

/// So many tokens of code in a row are no accident.
const RUN: usize = 8;
/// So many, with an operator and two names, are a formula.
const FORMULA: usize = 5;
/// Whole numbers up to this are in every text.
const SMALL: f64 = 10.0;

/// What leaks, by the line of the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leak {
    pub line: usize,
    pub what: What,
    pub text: String,
    /// `gold path:line`, `official path:line`.
    pub source: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Constant,
    Formula,
    Code,
}

/// Sources: gold's changed Python files and the suites, each with a word for messages.
pub(super) struct Sources<'a> {
    pub base: &'a Files,
    pub of: Vec<(&'a str, &'a Files)>,
    /// Signatures that the prompt has to state, each behind its name.
    pub signatures: Vec<String>,
    /// Constants of the interface, as written.
    pub allowed: Vec<&'a str>,
}

/// Also gives the allowed constants that were needed.
pub(super) fn leaks(prompt: &str, sources: &Sources<'_>) -> (Vec<Leak>, HashSet<String>) {
    let allowed: HashSet<String> = sources.allowed.iter().filter_map(|a| value(a)).collect();
    let mut stated: HashSet<String> = HashSet::new();
    for signature in &sources.signatures {
        let tokens = prose(signature, 1);
        stated.extend(tokens.iter().filter_map(|t| constant(t)));
    }
    let mut used = HashSet::new();
    let mut found = Vec::new();
    let tokens = prose(prompt, 1);
    let wanted: HashSet<String> = tokens
        .iter()
        .filter(|t| !numbers_a_list(prompt, t))
        .filter_map(constant)
        .filter(|c| !stated.contains(c))
        .collect();
    let places = constants(&wanted, sources);
    for token in &tokens {
        let Some(constant) = constant(token).filter(|c| wanted.contains(c)) else {
            continue;
        };
        let Some(source) = places.get(&constant) else {
            continue;
        };
        if allowed.contains(&constant) {
            used.insert(constant);
            continue;
        }
        found.push(Leak {
            line: token.line,
            what: What::Constant,
            text: token.text.to_owned(),
            source: source.clone(),
        });
    }
    found.extend(runs(prompt, sources));
    found.sort_by_key(|l| l.line);
    found.dedup_by(|a, b| (a.line, &a.text) == (b.line, &b.text));
    (found, used)
}

/// A number that is not in every text.
fn constant(token: &Token<'_>) -> Option<String> {
    if token.kind != TokenKind::Number {
        return None;
    }
    let value = value(token.text)?;
    let number: f64 = value.parse().ok()?;
    let telling = number.fract() != 0.0 || number > SMALL;
    telling.then_some(value)
}

/// `12.` at the beginning of a line.
fn numbers_a_list(prompt: &str, token: &Token<'_>) -> bool {
    let line = prompt.lines().nth(token.line - 1).unwrap_or_default();
    line.trim_start()
        .strip_prefix(token.text)
        .is_some_and(|rest| rest.starts_with(". ") || rest.starts_with(") "))
}

/// Where each constant stands in the sources, unless base has it as well.
fn constants(wanted: &HashSet<String>, sources: &Sources<'_>) -> HashMap<String, String> {
    let mut found: HashMap<String, String> = HashMap::new();
    for (what, files) in &sources.of {
        each(files, |path, token| {
            if let Some(c) = constant(token).filter(|c| wanted.contains(c)) {
                let place = || format!("{what} {path}:{}", token.line);
                found.entry(c).or_insert_with(place);
            }
        });
    }
    if !found.is_empty() {
        each(sources.base, |_, token| {
            if let Some(c) = constant(token) {
                found.remove(&c);
            }
        });
    }
    found
}

fn each(files: &Files, mut f: impl FnMut(&str, &Token<'_>)) {
    for (path, bytes) in files.iter().filter(|(path, _)| is_python(path)) {
        if let Ok(text) = std::str::from_utf8(bytes) {
            for token in python(text) {
                f(path, &token);
            }
        }
    }
}

/// Runs of tokens of the prompt's code that stand in the sources.
fn runs(prompt: &str, sources: &Sources<'_>) -> Vec<Leak> {
    let spans = code_spans(prompt);
    // the prompt's windows, by their tokens
    let mut windows: HashMap<Vec<&str>, (usize, What)> = HashMap::new();
    for (text, line) in &spans {
        let tokens = prose(text, *line);
        for window in tokens.windows(RUN) {
            let key = window.iter().map(|t| t.text).collect();
            windows.entry(key).or_insert((window[0].line, What::Code));
        }
        for window in tokens.windows(FORMULA).filter(|w| is_formula(w)) {
            let key = window.iter().map(|t| t.text).collect();
            windows
                .entry(key)
                .or_insert((window[0].line, What::Formula));
        }
    }
    // what is made of the interface's own names is how it is called
    let signatures = sources.signatures.iter().flat_map(|s| prose(s, 1));
    let interface: HashSet<&str> = signatures
        .filter(|t| t.kind == TokenKind::Word)
        .map(|t| t.text)
        .collect();
    windows.retain(|key, (_, what)| {
        let word = |t: &&&str| t.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let others: HashSet<&&str> = key
            .iter()
            .filter(word)
            .filter(|w| !interface.contains(**w))
            .collect();
        *what == What::Formula || others.len() > 1
    });
    if windows.is_empty() {
        return Vec::new();
    }
    let mut found: HashMap<Vec<&str>, String> = HashMap::new();
    for (what, files) in &sources.of {
        stand_in(files, &windows, |key, path, line| {
            found
                .entry(key)
                .or_insert_with(|| format!("{what} {path}:{line}"));
        });
    }
    if !found.is_empty() {
        stand_in(sources.base, &windows, |key, _, _| {
            found.remove(&key);
        });
    }
    let mut leaks: Vec<Leak> = found
        .into_iter()
        .filter_map(|(key, source)| {
            let (line, what) = *windows.get(&key)?;
            let text = key.join(" ");
            Some(Leak {
                line,
                what,
                text,
                source,
            })
        })
        .collect();
    leaks.sort_by(|a, b| (a.line, &a.text).cmp(&(b.line, &b.text)));
    // windows that overlap tell the same
    leaks.dedup_by(|a, b| a.line == b.line && a.what == b.what);
    leaks
}

fn stand_in<'w>(
    files: &Files,
    windows: &HashMap<Vec<&'w str>, (usize, What)>,
    mut f: impl FnMut(Vec<&'w str>, &str, usize),
) {
    for (path, bytes) in files.iter().filter(|(path, _)| is_python(path)) {
        let Ok(text) = std::str::from_utf8(bytes) else {
            continue;
        };
        let tokens = python(text);
        let words: HashSet<&str> = tokens.iter().map(|t| t.text).collect();
        for (key, _) in windows
            .iter()
            .filter(|(k, _)| k.iter().all(|w| words.contains(w)))
        {
            let hit = tokens
                .windows(key.len())
                .find(|w| w.iter().zip(key).all(|(t, k)| t.text == *k));
            if let Some(window) = hit {
                f(key.clone(), path, window[0].line);
            }
        }
    }
}

fn is_formula(window: &[Token<'_>]) -> bool {
    const OPERATORS: [&str; 8] = ["+", "-", "*", "/", "%", "**", "//", "<<"];
    let value = |t: &Token<'_>| t.kind != TokenKind::Operator || [")", "]"].contains(&t.text);
    // behind a bracket or a comma it unpacks, or is a sign
    let operates = window
        .windows(2)
        .any(|w| value(&w[0]) && OPERATORS.contains(&w[1].text));
    let names = window.iter().filter(|t| t.kind == TokenKind::Word).count();
    operates && names >= 2
}

/// Code in a prompt: what stands between backticks, and fenced blocks, with their first lines.
fn code_spans(prompt: &str) -> Vec<(&str, usize)> {
    let mut spans = Vec::new();
    let (mut at, mut rest) = (0, prompt);
    while let Some(open) = rest.find('`') {
        let ticks = rest[open..].bytes().take_while(|b| *b == b'`').count();
        let start = open + ticks;
        let fence = "`".repeat(ticks);
        let Some(length) = rest[start..].find(&fence) else {
            break;
        };
        let line = prompt[..at + start].matches('\n').count() + 1;
        spans.push((&rest[start..start + length], line));
        let end = start + length + ticks;
        at += end;
        rest = &rest[end..];
    }
    spans
}
