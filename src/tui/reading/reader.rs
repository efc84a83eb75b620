//! One log at a time: read on where it grows, read anew where it was rewritten.
//!
//! A stream is read piece by piece; the last bytes that were read are looked at again each time,
//! so that a file that was rewritten is noticed. A trajectory (mini-swe-agent, SWE-agent, OpenHands)
//! is one document that changes as a whole: it is read whole when it was written to.

use std::collections::HashMap;

use crate::agent::trace::{Entry, Kind, Progress, TraceReader};
use crate::domain::submission::LogFormat;
use crate::tui::backend::{Answer, LogChunk, LogKey};
use crate::tui::effect::LogWish;
use crate::tui::msg::LogDelta;

use super::Read;
use super::arrivals::Arrivals;
use super::figures::{Figures, Gather};

/// Bytes of a log read at a time.
const PIECE: usize = 1 << 20;
/// Bytes read first: what fills a screen is seen at once, however long the log is.
const FIRST: usize = 1 << 17;
/// Bytes of a log that are shown; what comes after is only counted.
const LOG_CAP: u64 = 64 << 20;
/// Bytes looked at again, to see whether they are the same.
const OVERLAP: usize = 256;

/// Where a log's reader stands.
#[derive(Debug)]
pub struct Reading {
    key: LogKey,
    reader: TraceReader,
    /// Byte offset of what was not read yet, and the bytes before it.
    next: u64,
    overlap: Vec<u8>,
    gather: Gather,
    arrivals: Option<Arrivals>,
    /// When entries began that have not ended.
    begun: HashMap<usize, f64>,
    /// Entries that were given, the unfinished last line among them.
    given: usize,
    /// Size and time of a document when it was read whole.
    document: Option<(u64, Option<f64>)>,
    model: Option<String>,
}

/// Reads what was added, or all of it anew.
pub fn read_on(slot: &mut Option<Reading>, read: &Read<'_>, wish: &LogWish) -> Answer<LogDelta> {
    let known = slot
        .take()
        .filter(|reading| reading.key == wish.key && !wish.restart);
    let mut reading = known.unwrap_or_else(|| Reading::new(wish));
    let answer = if wish.format.is_document() {
        reading.document(read, wish)
    } else {
        reading.stream(read, wish)
    };
    *slot = Some(reading);
    answer
}

impl Reading {
    fn new(wish: &LogWish) -> Self {
        Self {
            key: wish.key.clone(),
            reader: TraceReader::new(wish.format),
            next: 0,
            overlap: Vec::new(),
            gather: Gather::new(wish.format),
            arrivals: wish.since_s.map(Arrivals::new),
            begun: HashMap::new(),
            given: 0,
            document: None,
            model: None,
        }
    }

    fn stream(&mut self, read: &Read<'_>, wish: &LogWish) -> Answer<LogDelta> {
        let back = self.overlap.len() as u64;
        let piece = if self.next == 0 { FIRST } else { PIECE };
        let chunk = read(&self.key, self.next - back, piece + self.overlap.len())?;
        if chunk.bytes.starts_with(&self.overlap) {
            return self.piece(read, wish, &chunk);
        }
        if wish.grows && chunk.size == 0 {
            // it begins anew: what was there is shown until there is something else
            return Ok(self.same(chunk.written_s));
        }
        *self = Self::new(wish);
        let mut whole = LogDelta {
            replaced: true,
            ..LogDelta::default()
        };
        // all in one answer, so that nothing half-read is seen
        loop {
            let chunk = read(&self.key, self.next - self.overlap.len() as u64, PIECE)?;
            let piece = self.piece(read, wish, &chunk)?;
            whole.entries.extend(piece.entries);
            whole.len = piece.len;
            whole.figures = piece.figures;
            whole.cut = piece.cut;
            whole.more = piece.more;
            if !piece.more || piece.cut {
                return Ok(whole);
            }
        }
    }

    /// Takes a chunk that begins with the overlap.
    fn piece(&mut self, read: &Read<'_>, wish: &LogWish, chunk: &LogChunk) -> Answer<LogDelta> {
        let new = chunk.bytes.get(self.overlap.len()..).unwrap_or_default();
        let full = self.next >= LOG_CAP;
        let mut entries = self.feed(read, wish, new, chunk)?;
        for (at, entry) in &entries {
            self.gather.take(*at, entry);
        }
        self.model.clone_from(&self.reader.facts().model);
        self.next += new.len() as u64;
        let keep = chunk.bytes.len().saturating_sub(OVERLAP);
        self.overlap = chunk.bytes.get(keep..).unwrap_or_default().to_vec();
        let more = !chunk.at_end && !new.is_empty();
        let cut = full || (self.next >= LOG_CAP && more);
        if full {
            entries.retain(|(at, _)| *at < self.given);
        } else {
            self.given = self.reader.count();
            // half a line of JSON says nothing while its rest is on its way
            let half = wish.grows && wish.format != LogFormat::Text;
            if !more && !cut && !half {
                let tail = self.reader.tail();
                self.given += tail.len();
                entries.extend(tail);
            }
        }
        Ok(LogDelta {
            entries,
            len: self.given,
            // plain text has no figures worth the rest of a gigabyte
            more: more && (!cut || wish.format != LogFormat::Text),
            cut,
            replaced: false,
            figures: Some(self.figures(chunk.written_s)),
        })
    }

    fn same(&self, written_s: Option<f64>) -> LogDelta {
        LogDelta {
            len: self.given,
            figures: Some(self.figures(written_s)),
            cut: self.next >= LOG_CAP,
            ..LogDelta::default()
        }
    }

    fn figures(&self, written_s: Option<f64>) -> Figures {
        self.gather.figures(self.model.clone(), written_s)
    }

    /// Feeds the reader with what came at one time, one after the other.
    fn feed(
        &mut self,
        read: &Read<'_>,
        wish: &LogWish,
        bytes: &[u8],
        chunk: &LogChunk,
    ) -> Answer<Vec<(usize, Entry)>> {
        let end = self.next + bytes.len() as u64;
        if let (Some(arrivals), LogKey::Run { run }) = (&mut self.arrivals, &self.key) {
            arrivals.learn(read, &LogKey::Times { run: run.clone() }, end)?;
        }
        // the newest bytes came when the file was last written, where no stamp says it
        let last = chunk
            .written_s
            .filter(|_| wish.grows && self.arrivals.is_some() && chunk.at_end && self.next > 0);
        let mut out = Vec::new();
        let mut rest = bytes;
        let mut at = self.next;
        while !rest.is_empty() {
            let piece = self.arrivals.as_mut().and_then(|a| a.of(at));
            let (until, at_s) = piece.map_or((end, last), |(until, at_s)| (until, Some(at_s)));
            let length = usize::try_from(until - at).unwrap_or(usize::MAX);
            let (now, later) = rest.split_at(length.min(rest.len()));
            for (index, entry) in self.reader.feed(now) {
                out.push((index, self.stamp(index, entry, at_s)));
            }
            at += now.len() as u64;
            rest = later;
        }
        Ok(out)
    }

    /// Adds when an entry came and how long it took, where the stream does not tell.
    fn stamp(&mut self, index: usize, mut entry: Entry, at_s: Option<f64>) -> Entry {
        let Some(at_s) = at_s else { return entry };
        let begun = self.begun.get(&index).copied();
        let progress = match &mut entry.kind {
            Kind::Command {
                progress,
                duration_s,
                ..
            } => {
                if let Some(begun) = begun
                    && *progress != Progress::Running
                {
                    duration_s.get_or_insert((at_s - begun).max(0.0));
                }
                *progress
            }
            Kind::Edit { progress, .. } | Kind::Tool { progress, .. } => *progress,
            _ => Progress::Done,
        };
        if progress == Progress::Running {
            self.begun.entry(index).or_insert(at_s);
        } else {
            self.begun.remove(&index);
        }
        entry.at_s = entry.at_s.or(begun).or(Some(at_s));
        entry
    }

    fn document(&mut self, read: &Read<'_>, wish: &LogWish) -> Answer<LogDelta> {
        let mut reader = TraceReader::new(wish.format);
        let mut next = 0;
        let (cut, written_s) = loop {
            let chunk = read(&self.key, next, PIECE)?;
            let mark = (chunk.size, chunk.written_s);
            if next == 0 {
                let gone = chunk.size == 0 && wish.grows && self.given > 0;
                if self.document == Some(mark) || gone {
                    return Ok(self.same(chunk.written_s));
                }
                self.document = Some(mark);
            }
            reader.feed(&chunk.bytes);
            next = chunk.next;
            if chunk.at_end || chunk.bytes.is_empty() {
                break (false, chunk.written_s);
            }
            if next >= LOG_CAP {
                break (true, chunk.written_s);
            }
        };
        let entries = if next == 0 { Vec::new() } else { reader.tail() };
        let count = entries.iter().map(|(at, _)| at + 1).max().unwrap_or(0);
        // read in the middle of being written: the whole one is about to come
        if wish.grows && reader.facts().cut && count <= self.given && self.given > 0 {
            self.document = None;
            return Ok(self.same(written_s));
        }
        self.gather = Gather::new(wish.format);
        for (at, entry) in &entries {
            self.gather.take(*at, entry);
        }
        self.given = count;
        self.next = next;
        self.model.clone_from(&reader.facts().model);
        Ok(LogDelta {
            entries,
            len: count,
            more: false,
            cut,
            replaced: true,
            figures: Some(self.figures(written_s)),
        })
    }
}
