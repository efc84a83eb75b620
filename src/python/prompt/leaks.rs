//! Solution material in a prompt: constants, formulas and runs of code that stand in gold or in
//! the tests and not in base.

use std::collections::{HashMap, HashSet};

use super::lexer::{Token, TokenKind, prose, python, strings, value, values};
use super::spans::spans;
use crate::python::files::{Files, is_python};

/// So many tokens of code in a row are no accident.
const RUN: usize = 8;
/// So many, with an operator and two names, are a formula.
const FORMULA: usize = 5;
/// The word for gold's files.
pub(super) const GOLD: &str = "gold";
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
    let allowed_text: HashSet<&str> = sources.allowed.iter().copied().collect();
    let mut stated: HashSet<String> = HashSet::new();
    for signature in &sources.signatures {
        let tokens = prose(signature, 1);
        stated.extend(tokens.iter().filter_map(constant));
    }
    let mut used = HashSet::new();
    let mut found = Vec::new();
    let tokens = prose(prompt, 1);
    let numbers: Vec<(&Token<'_>, Vec<String>)> = tokens
        .iter()
        .enumerate()
        .filter(|(_, t)| t.kind == TokenKind::Number && !numbers_a_list(prompt, t))
        .map(|(at, t)| {
            let next = |n: usize| tokens.get(at + n).map_or("", |t| t.text);
            let percent =
                ["%", "percent"].contains(&next(1)) || (next(1), next(2)) == ("per", "cent");
            let mut all = values(t.text, percent);
            all.retain(|v| telling(v) && !stated.contains(v));
            (t, all)
        })
        .collect();
    let wanted: HashSet<String> = numbers.iter().flat_map(|(_, all)| all).cloned().collect();
    let places = constants(&wanted, sources);
    for (token, all) in numbers {
        let Some((constant, source)) = all.iter().find_map(|c| Some((c, places.get(c)?))) else {
            continue;
        };
        if allowed.contains(constant) {
            used.insert(constant.clone());
            continue;
        }
        found.push(Leak {
            line: token.line,
            what: What::Constant,
            text: token.text.to_owned(),
            source: source.clone(),
        });
    }
    for leak in texts(prompt, sources) {
        if allowed_text.contains(leak.text.as_str()) {
            used.insert(leak.text);
        } else {
            found.push(leak);
        }
    }
    found.extend(runs(prompt, sources));
    found.sort_by_key(|l| l.line);
    found.dedup_by(|a, b| (a.line, &a.text) == (b.line, &b.text));
    (found, used)
}

/// A number of the sources, unless it is in every text.
fn constant(token: &Token<'_>) -> Option<String> {
    if token.kind != TokenKind::Number {
        return None;
    }
    value(token.text).filter(|v| telling(v))
}

fn telling(value: &str) -> bool {
    let number: Result<f64, _> = value.parse();
    number.is_ok_and(|n| n.fract() != 0.0 || n > SMALL)
}

/// Strings of gold that nobody would think of (`"sk-header-v7"`): those that stand word for word in
/// the prompt. Names, options and sentences are no such strings; what the tests say as well (they
/// hand it in) belongs to the interface.
fn texts(prompt: &str, sources: &Sources<'_>) -> Vec<Leak> {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let line_of = |text: &str| {
        let mut places = prompt.match_indices(text).map(|(at, _)| at);
        let at = places.find(|at| {
            let before = prompt[..*at].chars().next_back();
            let after = prompt[at + text.len()..].chars().next();
            !before.is_some_and(part) && !after.is_some_and(part)
        })?;
        Some(prompt[..at].matches('\n').count() + 1)
    };
    let stated = |text: &str| sources.signatures.iter().any(|s| s.contains(text));
    let mut handed_in: HashSet<String> = HashSet::new();
    for (_, files) in sources.of.iter().filter(|(what, _)| *what != GOLD) {
        each_python(files, |_, source| {
            handed_in.extend(strings(source).iter().map(|t| t.text.to_owned()));
        });
    }
    let stated = |text: &str| handed_in.contains(text) || stated(text);
    let mut found: HashMap<String, Leak> = HashMap::new();
    for (what, files) in sources.of.iter().filter(|(what, _)| *what == GOLD) {
        each_python(files, |path, source| {
            for token in strings(source) {
                let text = token.text;
                if !curious(text) || found.contains_key(text) || stated(text) {
                    continue;
                }
                if let Some(line) = line_of(text) {
                    let leak = Leak {
                        line,
                        what: What::Constant,
                        text: text.to_owned(),
                        source: format!("{what} {path}:{}", token.line),
                    };
                    found.insert(text.to_owned(), leak);
                }
            }
        });
    }
    found.retain(|text, _| {
        let has = |bytes: &Vec<u8>| memchr::memmem::find(bytes, text.as_bytes()).is_some();
        !sources.base.values().any(has)
    });
    found.into_values().collect()
}

fn curious(text: &str) -> bool {
    const SHORTEST: usize = 8;
    let digit = text.contains(|c: char| c.is_ascii_digit());
    let mark = |c: char| c.is_ascii_punctuation() && c != '_' && c != '.';
    let marks = text.chars().filter(|c| mark(*c)).count();
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    text.len() >= SHORTEST
        && letters >= 3
        && !text.contains(|c: char| c.is_whitespace() || "{}()[]%\\".contains(c))
        && (marks >= 2 || marks == 1 && digit)
        && !text.contains('/')
        && !text.starts_with('-')
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

fn each_python(files: &Files, mut f: impl FnMut(&str, &str)) {
    for (path, bytes) in files.iter().filter(|(path, _)| is_python(path)) {
        if let Ok(text) = std::str::from_utf8(bytes) {
            f(path, text);
        }
    }
}

/// Tokens of all files. Of what is not Python (a table of settings, a kernel) the numbers count;
/// locked versions are none of a change's.
fn each(files: &Files, mut f: impl FnMut(&str, &Token<'_>)) {
    for (path, bytes) in files {
        let name = path.rsplit('/').next().unwrap_or(path);
        if name.contains(".lock") || name.contains("-lock.") || name.starts_with("requirements") {
            continue;
        }
        if let Ok(text) = std::str::from_utf8(bytes) {
            let tokens = if is_python(path) {
                python(text)
            } else {
                prose(text, 1)
            };
            for token in tokens {
                f(path, &token);
            }
        }
    }
}

/// Runs of tokens of the prompt's code that stand in the sources.
fn runs(prompt: &str, sources: &Sources<'_>) -> Vec<Leak> {
    let spans = spans(prompt);
    // the prompt's windows, by their tokens
    let mut windows: HashMap<Vec<&str>, (usize, What)> = HashMap::new();
    let code = spans.code.iter().map(|span| (span, true));
    // a formula is one without marks too
    let prose_too = spans.prose.iter().map(|span| (span, false));
    for ((text, line), is_code) in code.chain(prose_too) {
        let tokens = prose(text, *line);
        for window in tokens.windows(RUN).filter(|_| is_code) {
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
