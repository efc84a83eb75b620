//! How bad a line of plain text is, as its own words say.

use crate::agent::trace::{Entry, Kind};
use crate::domain::Level;
use crate::tui::ansi;

/// Bytes of a line that are looked at: a level stands at its beginning.
const LOOKED: usize = 240;

/// The level that a line names, or that its form tells; `None`: it names none.
pub fn of_line(line: &str) -> Option<Level> {
    let mut end = line.len().min(LOOKED);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    let plain = ansi::plain(line.get(..end).unwrap_or_default());
    let text = plain.as_ref();
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut at = 0;
    for token in text.split(|c| !word(c)) {
        let before = text.get(..at).unwrap_or_default();
        let after = text.get(at + token.len()..).unwrap_or_default();
        at += token.len() + after.chars().next().map_or(0, char::len_utf8);
        // `error: …`, `warning[x]`, `"level": "error"`
        let names = after.starts_with([':', '[']) || before.ends_with(['"', '=']);
        let first = before.trim_start().chars().all(|c| word(c) || c == '.');
        match token {
            "ERROR" | "FATAL" | "CRITICAL" | "SEVERE" | "PANIC" => return Some(Level::Error),
            "FAILED" | "Traceback" | "panicked" if first => return Some(Level::Error),
            "WARN" | "WARNING" => return Some(Level::Warn),
            "INFO" | "NOTICE" => return Some(Level::Info),
            "error" | "Error" | "fatal" | "critical" if names => return Some(Level::Error),
            "warning" | "Warning" | "warn" if names => return Some(Level::Warn),
            _ if !after.starts_with(':') => {}
            _ if token.ends_with("Warning") => return Some(Level::Warn),
            // `torch.cuda.OutOfMemoryError: …`
            _ if first && (token.ends_with("Error") || token.ends_with("Exception")) => {
                return Some(Level::Error);
            }
            _ => {}
        }
    }
    None
}

/// Something went wrong here: a command that failed, an error, a line that names one.
pub fn bad(entry: &Entry) -> bool {
    entry.bad() || raw(entry) == Some(Level::Error)
}

/// A warning, or a wait for the model's service.
pub fn warns(entry: &Entry) -> bool {
    match &entry.kind {
        Kind::Notice { level, .. } => *level == Level::Warn,
        Kind::Wait { .. } => true,
        _ => raw(entry) == Some(Level::Warn),
    }
}

fn raw(entry: &Entry) -> Option<Level> {
    match &entry.kind {
        Kind::Raw { text } => of_line(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_bad_it_is_and_a_word_in_passing_does_not() {
        for (line, level) in [
            (
                "2026-11-29T17:41:58Z ERROR codex_core: no such tool",
                Some(Level::Error),
            ),
            ("\u{1b}[1;31mERROR\u{1b}[0m at start", Some(Level::Error)),
            ("E0413 [rank 3] WARNING: slow", Some(Level::Warn)),
            ("src/a.rs:3: warning: unused", Some(Level::Warn)),
            ("error[E0308]: mismatched types", Some(Level::Error)),
            (r#"{"level": "error", "msg": "x"}"#, Some(Level::Error)),
            ("ts=1 level=warn msg=x", Some(Level::Warn)),
            ("Traceback (most recent call last):", Some(Level::Error)),
            ("ValueError: 3", Some(Level::Error)),
            (
                "torch.cuda.OutOfMemoryError: CUDA out of memory",
                Some(Level::Error),
            ),
            (
                "a.py:3: UserWarning: TypedStorage is deprecated",
                Some(Level::Warn),
            ),
            ("FAILED tests/test_a.py::test_b", Some(Level::Error)),
            ("INFO: ready", Some(Level::Info)),
            ("INFO no ERROR was seen", Some(Level::Info)),
            ("there was no error here", None),
            ("errors=0 warnings=0", None),
            ("raise ValueError: see 漢字", None),
            ("", None),
        ] {
            assert_eq!(of_line(line), level, "{line}");
        }
    }
}
