//! The only place that writes to standard output and standard error.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::io::Write;

use serde::Serialize;

use super::exit::Failure;
use crate::engine::Stream;

/// One JSON document on standard output, and nothing else there.
pub fn document(value: &impl Serialize) -> Result<(), Failure> {
    let text =
        serde_json::to_string_pretty(value).map_err(|e| Failure::machinery(e.to_string()))?;
    line(&text);
    Ok(())
}

/// A line for people on standard output. A reader that went away is no error of ours.
pub fn line(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// A line for people on standard error.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Bytes of somebody else, as they are; written at once. A reader that went away is no error of ours.
pub fn bytes(stream: Stream, bytes: &[u8]) {
    let _ = match stream {
        Stream::Stdout | Stream::Channel => {
            let mut out = std::io::stdout().lock();
            out.write_all(bytes).and_then(|()| out.flush())
        }
        Stream::Stderr => std::io::stderr().lock().write_all(bytes),
    };
}

/// Untrusted text made safe for a terminal: control characters become visible.
pub fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(' '),
            c if c.is_control() => out.extend(c.escape_unicode()),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}'..='\u{200f}' => {
                out.extend(c.escape_unicode());
            }
            c => out.push(c),
        }
    }
    out
}

/// As [`safe`], but line by line.
pub fn safe_lines(text: &str) -> String {
    text.lines().map(safe).collect::<Vec<_>>().join("\n")
}
