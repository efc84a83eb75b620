//! Bytes in, entries out: whole lines are read, a cut one waits for its rest.

use std::collections::HashMap;

use serde_json::Value;

use crate::domain::submission::LogFormat;

use super::entry::{Entry, Kind};
use super::facts::Facts;
use super::{claude, codex, document, json, opencode, openhands};

/// A longer line is shown by its beginning and not parsed, so that memory stays bounded.
const LONGEST_LINE: usize = 32 << 20;
/// What is shown of such a line.
const SHOWN: usize = 64 << 10;

/// Reads one log from its beginning. Feed it pieces of any size.
#[derive(Debug)]
pub struct TraceReader {
    format: LogFormat,
    /// Read as a whole.
    document: bool,
    pending: Vec<u8>,
    /// Bytes of the line in hand beyond what is kept of it.
    lost: usize,
    pub(super) out: Out,
}

/// Where a format's reader puts its entries.
#[derive(Debug, Default)]
pub struct Out {
    count: usize,
    changes: Vec<(usize, Entry)>,
    /// What was begun and may be completed, by the stream's own id.
    open: HashMap<String, (usize, Entry)>,
    pub facts: Facts,
}

impl Out {
    pub fn count(&self) -> usize {
        self.count
    }

    pub fn drain(&mut self) -> Vec<(usize, Entry)> {
        std::mem::take(&mut self.changes)
    }

    pub fn push(&mut self, entry: Entry) -> usize {
        let at = self.count;
        self.changes.push((at, entry));
        self.count += 1;
        at
    }

    /// Adds an entry that [`Out::close`] will complete.
    pub fn begin(&mut self, id: &str, entry: Entry) {
        let at = self.push(entry.clone());
        self.open.insert(id.to_owned(), (at, entry));
    }

    pub fn opened(&mut self, id: &str) -> Option<(usize, Entry)> {
        self.open.remove(id)
    }

    pub fn is_open(&self, id: &str) -> bool {
        self.open.contains_key(id)
    }

    /// What was begun stays as it is: its ids mean something else from here on.
    pub fn forget_open(&mut self) {
        self.open.clear();
    }

    /// Puts a completed entry in its place, or at the end where nothing was begun.
    pub fn close(&mut self, id: &str, entry: Entry) {
        match self.opened(id) {
            Some((at, _)) => self.changes.push((at, entry)),
            None => {
                self.push(entry);
            }
        }
    }

    /// Keeps an entry open after an update.
    pub fn reopen(&mut self, id: &str, at: usize, entry: Entry) {
        self.open.insert(id.to_owned(), (at, entry));
    }

    pub fn replace(&mut self, at: usize, entry: Entry) {
        self.changes.push((at, entry));
    }
}

impl TraceReader {
    pub fn new(format: LogFormat) -> Self {
        Self {
            format,
            document: format.is_document(),
            pending: Vec::new(),
            lost: 0,
            out: Out::default(),
        }
    }

    /// Of a log that turned out to be lines.
    pub(super) fn lines(format: LogFormat) -> Self {
        Self {
            document: false,
            ..Self::new(format)
        }
    }

    /// How many entries there are so far.
    pub fn count(&self) -> usize {
        self.out.count
    }

    /// What is known of the session so far.
    pub fn facts(&self) -> &Facts {
        &self.out.facts
    }

    /// New and replaced entries, each with its index.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<(usize, Entry)> {
        if self.document {
            self.pending.extend_from_slice(bytes);
            return Vec::new();
        }
        self.take(bytes);
        self.out.drain()
    }

    pub(super) fn take(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            self.gather(&rest[..end]);
            self.end_line();
            rest = &rest[end + 1..];
        }
        self.gather(rest);
    }

    /// What stands after the last whole line, as it is now: shown, and replaced when it goes on.
    pub fn tail(&mut self) -> Vec<(usize, Entry)> {
        if self.document {
            return self.whole();
        }
        if self.pending.is_empty() {
            return Vec::new();
        }
        let entry = match self.lost {
            0 => raw(&String::from_utf8_lossy(&self.pending)),
            lost => overlong(&self.pending, lost),
        };
        vec![(self.out.count, entry)]
    }

    /// The log ends here: what is left is a line, or the piece of one.
    pub fn finish(&mut self) -> Vec<(usize, Entry)> {
        if self.document {
            return self.whole();
        }
        self.end();
        self.out.drain()
    }

    pub(super) fn end(&mut self) {
        let left = String::from_utf8_lossy(&self.pending);
        let begun = self.format != LogFormat::Text && left.trim_start().starts_with('{');
        self.out.facts.cut = begun && (self.lost > 0 || json::parse(&left).is_none());
        if !self.pending.is_empty() {
            self.end_line();
        }
    }

    fn gather(&mut self, part: &[u8]) {
        let taken = part.len().min(LONGEST_LINE - self.pending.len());
        self.pending.extend_from_slice(&part[..taken]);
        self.lost += part.len() - taken;
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.pending);
        match std::mem::take(&mut self.lost) {
            0 => self.line(&line),
            lost => {
                self.out.push(overlong(&line, lost));
                if self.format != LogFormat::Text {
                    self.out.facts.unparsed_lines += 1;
                }
            }
        }
    }

    /// A document is rewritten as it grows (mini after each step): it is read as a whole.
    fn whole(&mut self) -> Vec<(usize, Entry)> {
        let mut out = Out::default();
        // a slice has no errors of its own
        let _ = document::walk(self.pending.as_slice(), self.format, &mut out, &mut |_| {});
        let changes = out.drain();
        self.out = out;
        changes
    }

    fn line(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end_matches('\r');
        if self.format == LogFormat::Text {
            self.out.push(raw(text));
            return;
        }
        if text.trim().is_empty() {
            return;
        }
        let Some(value @ Value::Object(_)) = json::parse(text) else {
            self.out.facts.unparsed_lines += 1;
            self.out.push(raw(text));
            return;
        };
        let known = match self.format {
            LogFormat::Codex => codex::read(&value, &mut self.out),
            LogFormat::Claude => claude::read(&value, &mut self.out),
            LogFormat::Opencode => opencode::read(&value, &mut self.out),
            LogFormat::Openhands => openhands::read(&value, &mut self.out),
            LogFormat::Mini | LogFormat::SweAgent | LogFormat::Atif | LogFormat::Text => false,
        };
        if !known {
            self.out.push(raw(text));
        }
    }
}

fn raw(text: &str) -> Entry {
    Entry::new(
        None,
        Kind::Raw {
            text: text.to_owned(),
        },
    )
}

fn overlong(line: &[u8], lost: usize) -> Entry {
    let start = String::from_utf8_lossy(&line[..SHOWN]);
    let more = line.len() - SHOWN + lost;
    raw(&format!("{start}… ({more} bytes more)"))
}
