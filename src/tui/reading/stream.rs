//! A log that grows, read piece by piece from some byte on.

use std::collections::HashMap;

use crate::agent::trace::{Entry, Kind, Progress, TraceReader};
use crate::domain::submission::LogFormat;
use crate::tui::backend::{Answer, LogChunk, LogKey};
use crate::tui::effect::LogWish;

use super::Read;
use super::arrivals::Arrivals;

/// Bytes of a log read at a time.
pub const PIECE: usize = 1 << 20;
/// Bytes read first: what fills a screen is seen at once, however long the log is.
const FIRST: usize = 1 << 17;
/// Bytes looked at again, to see whether they are the same.
const OVERLAP: usize = 256;

/// Where a stream's reader stands.
#[derive(Debug)]
pub struct Stream {
    format: LogFormat,
    pub reader: TraceReader,
    /// Byte at which it began.
    pub from: u64,
    /// Byte offset of what was not read yet, and the bytes before it.
    pub next: u64,
    overlap: Vec<u8>,
    /// After the last whole line.
    pub line: u64,
    /// It began inside a line, whose rest is passed over.
    torn: bool,
    arrivals: Option<Arrivals>,
    /// When entries began that have not ended.
    begun: HashMap<usize, f64>,
    /// Entries that were given, the unfinished last line among them.
    pub given: usize,
}

/// What a piece came to.
#[derive(Debug, Default)]
pub struct Step {
    pub entries: Vec<(usize, Entry)>,
    /// More is there to read now.
    pub more: bool,
    pub written_s: Option<f64>,
    pub size: u64,
}

impl Stream {
    /// From the line on that begins at or after a byte.
    pub fn new(format: LogFormat, from: u64, since_s: Option<f64>) -> Self {
        let start = from.saturating_sub(1);
        Self {
            format,
            reader: TraceReader::new(format),
            from,
            next: start,
            overlap: Vec::new(),
            line: from,
            torn: from > 0,
            arrivals: since_s.map(Arrivals::new),
            begun: HashMap::new(),
            given: 0,
        }
    }

    /// Reads the next piece; `None`: what was read before is not there any more. `full`: only what
    /// completes entries that were given.
    pub fn step(
        &mut self,
        key: &LogKey,
        read: &Read<'_>,
        wish: &LogWish,
        full: bool,
    ) -> Answer<Option<Step>> {
        let back = self.overlap.len() as u64;
        let first = self.next == self.from.saturating_sub(1) && back == 0;
        let piece = if first { FIRST } else { PIECE };
        let chunk = read(key, self.next - back, piece + self.overlap.len())?;
        let mut step = Step {
            written_s: chunk.written_s,
            size: chunk.size,
            ..Step::default()
        };
        if !chunk.bytes.starts_with(&self.overlap) {
            // it begins anew: what was there is shown until there is something else
            let begins = wish.grows && chunk.size == 0;
            return Ok(begins.then_some(step));
        }
        let new = chunk.bytes.get(self.overlap.len()..).unwrap_or_default();
        step.more = !chunk.at_end && !new.is_empty();
        step.entries = self.feed(key, read, wish, new, &chunk)?;
        if let Some(end) = memchr::memrchr(b'\n', new) {
            self.line = self.next + end as u64 + 1;
        }
        self.next += new.len() as u64;
        let keep = chunk.bytes.len().saturating_sub(OVERLAP);
        self.overlap = chunk.bytes.get(keep..).unwrap_or_default().to_vec();
        if full {
            let given = self.given;
            step.entries.retain(|(at, _)| *at < given);
            return Ok(Some(step));
        }
        self.given = self.reader.count();
        // half a line of JSON says nothing while its rest is on its way
        let half = wish.grows && self.format != LogFormat::Text;
        if !step.more && !half {
            let tail = self.reader.tail();
            self.given += tail.len();
            step.entries.extend(tail);
        }
        Ok(Some(step))
    }

    /// Feeds the reader with what came at one time, one after the other.
    fn feed(
        &mut self,
        key: &LogKey,
        read: &Read<'_>,
        wish: &LogWish,
        bytes: &[u8],
        chunk: &LogChunk,
    ) -> Answer<Vec<(usize, Entry)>> {
        let end = self.next + bytes.len() as u64;
        if let (Some(arrivals), Some(times)) = (&mut self.arrivals, key.times()) {
            arrivals.learn(read, &times, end)?;
        }
        // the newest bytes came when the file was last written, where no stamp says it
        let last = chunk
            .written_s
            .filter(|_| wish.grows && self.arrivals.is_some() && chunk.at_end && self.next > 0);
        let mut out = Vec::new();
        let mut rest = bytes;
        let mut at = self.next;
        if self.torn {
            let Some(end) = memchr::memchr(b'\n', rest) else {
                return Ok(out);
            };
            self.torn = false;
            rest = rest.get(end + 1..).unwrap_or_default();
            at += end as u64 + 1;
        }
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
}
