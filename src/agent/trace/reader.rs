//! Bytes in, entries out: whole lines are read, a cut one waits for its rest.

use std::collections::HashMap;

use serde_json::Value;

use crate::domain::submission::LogFormat;

use super::entry::{Entry, Kind};
use super::{claude, codex, mini, opencode};

/// Reads one log from its beginning. Feed it pieces of any size.
#[derive(Debug)]
pub struct TraceReader {
    format: LogFormat,
    pending: Vec<u8>,
    pub(super) out: Out,
}

/// Where a format's reader puts its entries.
#[derive(Debug, Default)]
pub struct Out {
    count: usize,
    changes: Vec<(usize, Entry)>,
    /// What was begun and may be completed, by the stream's own id.
    open: HashMap<String, (usize, Entry)>,
}

impl Out {
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
            pending: Vec::new(),
            out: Out::default(),
        }
    }

    /// How many entries there are so far.
    pub fn count(&self) -> usize {
        self.out.count
    }

    /// New and replaced entries, each with its index.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<(usize, Entry)> {
        self.pending.extend_from_slice(bytes);
        if self.format == LogFormat::Mini {
            return Vec::new();
        }
        let mut from = 0;
        while let Some(end) = memchr::memchr(b'\n', &self.pending[from..]) {
            let line = self.pending[from..from + end].to_vec();
            self.line(&line);
            from += end + 1;
        }
        self.pending.drain(..from);
        std::mem::take(&mut self.out.changes)
    }

    /// What stands after the last whole line, as it is now: shown, and replaced when it goes on.
    pub fn tail(&mut self) -> Vec<(usize, Entry)> {
        if self.format == LogFormat::Mini {
            return self.whole();
        }
        if self.pending.is_empty() {
            return Vec::new();
        }
        let text = String::from_utf8_lossy(&self.pending).into_owned();
        vec![(self.out.count, Entry::new(None, Kind::Raw { text }))]
    }

    /// mini rewrites its whole file after each step: it is read as a whole.
    fn whole(&mut self) -> Vec<(usize, Entry)> {
        let text = String::from_utf8_lossy(&self.pending);
        let mut out = Out::default();
        match serde_json::from_str::<Value>(&text) {
            Ok(value) => mini::read(&value, &mut out),
            Err(_) => {
                for line in text.lines() {
                    out.push(raw(line));
                }
            }
        }
        let changes = std::mem::take(&mut out.changes);
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
        let Ok(value @ Value::Object(_)) = serde_json::from_str::<Value>(text) else {
            self.out.push(raw(text));
            return;
        };
        let known = match self.format {
            LogFormat::Codex => codex::read(&value, &mut self.out),
            LogFormat::Claude => claude::read(&value, &mut self.out),
            LogFormat::Opencode => opencode::read(&value, &mut self.out),
            LogFormat::Mini | LogFormat::Text => false,
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
