//! Symbol edits: a wrong solution told as changes to single functions of gold's tree, so that no
//! other code need be kept (DESIGN.md, Engines).
//!
//! ```toml
//! schema = 1
//! [[edit]]
//! file = "pkg/mod.py"
//! symbol = "Class.method"      # a setter: "Class.x.setter"; in a function: "outer.inner"
//! body = '''
//! return 1
//! '''
//! ```
//! An edit has exactly one of
//! - `body`: the new body. Signature, decorators and docstring stay.
//! - `wrap`: the body of a wrapper that keeps signature, decorators and docstring. In it gold's
//!   function is `_gold`: the function as it stands in the source, so a method's takes `self`,
//!   and an `async` one is awaited. The wrapper sees the parameters by their names, and besides
//!   `args` and `kwargs`: all of them, `self` and filled-in defaults included, so that
//!   `_gold(*args, **kwargs)` is the call as it came. (They are taken before the wrapper's first
//!   line. A plain parameter that is itself called `args` or `kwargs` keeps its own value.)
//!   Parameters with a default that a call of `_gold` leaves out have this call's value.
//! - `replace = { statement = "<sha256 or 8 and more of its first digits>", with = "…" }`: one
//!   statement, found by the hash of its text without its indentation.
//!
//! All are written at the left margin. Edits apply in order. What cannot be done is an error with
//! the line of the TOML file; unknown keys are errors.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use super::indent::{indented, shifted};
use super::symbols::{Function, Module, ParameterKind, Statement};

/// Why edits cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {message}", file.display())]
pub struct EditError {
    /// The TOML file, and the line in it.
    pub file: PathBuf,
    pub line: usize,
    pub message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edits {
    schema: Spanned<u32>,
    #[serde(default)]
    edit: Vec<Spanned<Edit>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    file: Spanned<String>,
    symbol: Spanned<String>,
    body: Option<Spanned<String>>,
    wrap: Option<Spanned<String>>,
    replace: Option<Spanned<Replace>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Replace {
    statement: String,
    with: String,
}

/// A message and the byte of the TOML text that it is about.
type Wrong = (usize, String);

/// The shortest hash that names a statement.
const HASH: usize = 8;

/// Applies the edits of a TOML file to a tree.
///
/// `file`: the TOML file's name, for errors. `read`: the content of a file of the tree. Gives the
/// changed files.
pub fn apply(
    text: &str,
    file: &Path,
    read: impl Fn(&str) -> Option<Vec<u8>>,
) -> Result<Vec<(String, Vec<u8>)>, EditError> {
    let error = |at: usize, message: String| EditError {
        file: file.to_owned(),
        line: text[..at.min(text.len())].matches('\n').count() + 1,
        message,
    };
    let edits: Edits = toml::from_str(text)
        .map_err(|e| error(e.span().map_or(0, |s| s.start), e.message().to_owned()))?;
    if *edits.schema.get_ref() != 1 {
        let message = format!("schema {}: this program knows 1", edits.schema.get_ref());
        return Err(error(edits.schema.span().start, message));
    }
    if edits.edit.is_empty() {
        return Err(error(0, "no [[edit]] in it".into()));
    }
    let mut changed: BTreeMap<&str, String> = BTreeMap::new();
    let mut done: Vec<(&str, &str)> = Vec::new();
    for edit in &edits.edit {
        let at = edit.span().start;
        let edit = edit.get_ref();
        let (name, symbol) = (edit.file.get_ref().as_str(), edit.symbol.get_ref().as_str());
        if edit.replace.is_none() && done.contains(&(name, symbol)) {
            let message = format!("{symbol} of {name} is edited already");
            return Err(error(edit.symbol.span().start, message));
        }
        done.push((name, symbol));
        let before = match changed.remove(name) {
            Some(text) => text,
            None => source(name, &read).map_err(|m| error(edit.file.span().start, m))?,
        };
        let after = edited(&before, edit, at).map_err(|(at, m)| error(at, m))?;
        changed.insert(name, after);
    }
    let files = changed.into_iter();
    Ok(files
        .map(|(name, text)| (name.to_owned(), text.into_bytes()))
        .collect())
}

fn source(name: &str, read: &impl Fn(&str) -> Option<Vec<u8>>) -> Result<String, String> {
    let inside = Path::new(name)
        .components()
        .all(|c| matches!(c, std::path::Component::Normal(_)));
    if !inside || name.is_empty() {
        return Err(format!("{name:?} is no path inside the tree"));
    }
    let bytes = read(name).ok_or_else(|| format!("there is no file {name}"))?;
    String::from_utf8(bytes).map_err(|_| format!("{name} is not UTF-8"))
}

fn edited(before: &str, edit: &Edit, at: usize) -> Result<String, Wrong> {
    let name = edit.file.get_ref();
    let module =
        Module::parse(before).map_err(|e| (edit.file.span().start, format!("{name}: {e}")))?;
    let function = find(&module, edit)?;
    let newline = if before.contains("\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    let (place, made) = match (&edit.body, &edit.wrap, &edit.replace) {
        (Some(body), None, None) => {
            let made = given(body.get_ref(), &inner_indent(&function))
                .map(|lines| rebuilt(before, &function, &lines))
                .map_err(|m| (body.span().start, m))?;
            (body.span().start, made)
        }
        (None, Some(wrap), None) => {
            let made = given(wrap.get_ref(), &inner_indent(&function))
                .map(|lines| rebuilt(before, &function, &wrapper(&module, &function, &lines)))
                .map_err(|m| (wrap.span().start, m))?;
            (wrap.span().start, made)
        }
        (None, None, Some(replace)) => {
            let made = replaced(before, &function, replace.get_ref())
                .map_err(|m| (replace.span().start, m))?;
            (replace.span().start, made)
        }
        _ => {
            let message = "an edit has exactly one of body, wrap and replace".to_owned();
            return Err((at, message));
        }
    };
    let made = if newline == "\n" {
        made
    } else {
        made.replace("\r\n", "\n").replace('\n', newline)
    };
    match Module::parse(&made) {
        Ok(_) => Ok(made),
        Err(e) => Err((place, format!("{name} with the edit, {e}"))),
    }
}

fn find(module: &Module<'_>, edit: &Edit) -> Result<Function, Wrong> {
    let (file, symbol) = (edit.file.get_ref(), edit.symbol.get_ref());
    let wrong = |message: String| (edit.symbol.span().start, message);
    let functions = module.functions();
    let mut found = functions.iter().filter(|f| f.name == *symbol);
    match (found.next(), found.next()) {
        (Some(function), None) => Ok(function.clone()),
        (Some(one), Some(two)) => Err(wrong(format!(
            "{file} has {symbol} more than once, in lines {} and {}",
            one.line, two.line
        ))),
        (None, _) => {
            let last = symbol.rsplit('.').next().unwrap_or(symbol);
            let near: Vec<&str> = functions
                .iter()
                .map(|f| f.name.as_str())
                .filter(|n| n.rsplit('.').next() == Some(last))
                .collect();
            let hint = if near.is_empty() {
                String::new()
            } else {
                format!("; there is {}", near.join(", "))
            };
            Err(wrong(format!("{file} has no function {symbol}{hint}")))
        }
    }
}

/// Lines of the TOML file, moved to the indentation of where they go.
fn given(lines: &str, indent: &str) -> Result<String, String> {
    let lines = lines.trim_end().trim_start_matches(['\n', '\r']);
    if lines.trim().is_empty() {
        return Err("there is nothing in it".into());
    }
    if lines.starts_with([' ', '\t']) {
        return Err("its first line is indented: write it at the left margin".into());
    }
    indented(lines, indent).map_err(|e| format!("{e} (counted in the edit)"))
}

fn inner_indent(function: &Function) -> String {
    let outer = &function.indent;
    (function.body_indent.clone()).unwrap_or_else(|| format!("{outer}    "))
}

/// The file with other lines in place of a function's statements.
fn rebuilt(text: &str, function: &Function, lines: &str) -> String {
    let indent = inner_indent(function);
    let signature = function.signature.end;
    let mut head = text[..signature].to_owned();
    match &function.docstring {
        Some(doc) if function.body_indent.is_some() => {
            head.push_str(&text[signature..doc.end]);
            head.push_str(comment_after(text, doc.end));
        }
        Some(doc) => {
            head.push('\n');
            head.push_str(&indent);
            head.push_str(&text[doc.clone()]);
        }
        None => head.push_str(comment_after(text, signature)),
    }
    format!("{head}\n{lines}{}", &text[function.body.end..])
}

/// The rest of a line, when it is a comment.
fn comment_after(text: &str, at: usize) -> &str {
    let line = text[at..].lines().next().unwrap_or_default();
    if line.trim_start().starts_with('#') {
        line.trim_end()
    } else {
        ""
    }
}

/// Gold's function as `_gold`, the names of the call, and the wrapper's own lines.
fn wrapper(module: &Module<'_>, function: &Function, lines: &str) -> String {
    let indent = inner_indent(function);
    let (mut declared, mut by_place, mut by_name) = (Vec::new(), Vec::new(), Vec::new());
    let mut only_named = false;
    for parameter in &function.parameters {
        let name = &parameter.name;
        match parameter.kind {
            ParameterKind::Star => {
                only_named = true;
                declared.push("*".to_owned());
            }
            ParameterKind::Slash => declared.push("/".to_owned()),
            ParameterKind::Rest => {
                only_named = true;
                declared.push(format!("*{name}"));
                by_place.push(format!("*{name}, "));
            }
            ParameterKind::Named => {
                declared.push(format!("**{name}"));
                by_name.push(format!("**{name}"));
            }
            ParameterKind::Plain => {
                declared.push(if parameter.has_default {
                    format!("{name}={name}")
                } else {
                    name.clone()
                });
                if only_named {
                    by_name.push(format!("{name:?}: {name}"));
                } else {
                    by_place.push(format!("{name}, "));
                }
            }
        }
    }
    let is_async = if function.is_async { "async " } else { "" };
    let mut out = format!("{indent}{is_async}def _gold({}):\n", declared.join(", "));
    match (&function.first, &function.body_indent) {
        (None, _) => out.extend([indent.as_str(), "    pass"]),
        (Some(first), None) => {
            let body = &module.text[first.range.start..function.body.end];
            out.extend([indent.as_str(), "    ", body]);
        }
        (Some(first), Some(_)) => {
            // a statement behind the docstring on its line begins no line of its own
            let start = first.range.start - first.indent.as_ref().map_or(0, String::len);
            if first.indent.is_none() {
                out.extend([indent.as_str(), "    "]);
            }
            let strings = module.long_strings();
            let body = shifted(module.text, start..function.body.end, "    ", &strings);
            out.push_str(if first.indent.is_none() {
                body.trim_start()
            } else {
                &body
            });
        }
    }
    out.push('\n');
    let plain = |name: &str| {
        let mut all = function.parameters.iter();
        all.any(|p| p.name == name && p.kind == ParameterKind::Plain)
    };
    // both at once: one of them may stand in the other
    let (args, kwargs) = (
        format!("({})", by_place.concat()),
        format!("{{{}}}", by_name.join(", ")),
    );
    let args = if by_place.is_empty() {
        "()".into()
    } else {
        args
    };
    match (plain("args"), plain("kwargs")) {
        (false, false) => out.extend([
            indent.as_str(),
            "args, kwargs = ",
            args.as_str(),
            ", ",
            kwargs.as_str(),
            "\n",
        ]),
        (false, true) => out.extend([indent.as_str(), "args = ", args.as_str(), "\n"]),
        (true, false) => out.extend([indent.as_str(), "kwargs = ", kwargs.as_str(), "\n"]),
        (true, true) => {}
    }
    out.push_str(lines);
    out
}

fn replaced(text: &str, function: &Function, replace: &Replace) -> Result<String, String> {
    let wanted = replace.statement.to_ascii_lowercase();
    if wanted.len() < HASH || !wanted.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(format!(
            "statement: {HASH} or more hexadecimal digits of a sha256 are needed"
        ));
    }
    let found: Vec<&Statement> = function
        .statements
        .iter()
        .filter(|s| s.hash(text).starts_with(&wanted))
        .collect();
    let statement = match found.as_slice() {
        [one] => *one,
        [] => return Err(none_of(text, function, &wanted)),
        [one, two, ..] => {
            return Err(format!(
                "{} has this statement more than once, in lines {} and {}",
                function.name, one.line, two.line
            ));
        }
    };
    let indent = statement.indent.as_deref().unwrap_or_default();
    let lines = &given(&replace.with, indent)?[indent.len()..];
    if statement.indent.is_none() && lines.contains('\n') {
        return Err("the statement shares its line: one line must replace it".into());
    }
    let range = &statement.range;
    Ok(format!(
        "{}{lines}{}",
        &text[..range.start],
        &text[range.end..]
    ))
}

fn none_of(text: &str, function: &Function, wanted: &str) -> String {
    let known: Vec<String> = function
        .statements
        .iter()
        .take(20)
        .map(|s| {
            let first = text[s.range.clone()].lines().next().unwrap_or_default();
            let short: String = first.chars().take(50).collect();
            format!("\n  {} line {}: {short}", &s.hash(text)[..12], s.line)
        })
        .collect();
    format!(
        "{} has no statement {wanted}; it has{}",
        function.name,
        known.concat()
    )
}

#[cfg(test)]
mod tests;
