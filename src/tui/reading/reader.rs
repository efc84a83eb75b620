//! One log at a time: read on where it grows, read anew where it was rewritten.
//!
//! A stream is read piece by piece; the last bytes that were read are looked at again each time,
//! so that a file that was rewritten is noticed. A trajectory (mini-swe-agent, SWE-agent, OpenHands, ATIF)
//! is one document that changes as a whole: it is read whole when it was written to.
//!
//! Figures are of the whole log. Where only a part of it is shown, or its lines as they are, a
//! second stream reads what is shown, and the first goes on counting.

use crate::agent::trace::TraceReader;
use crate::domain::submission::LogFormat;
use crate::tui::backend::{Answer, LogKey};
use crate::tui::effect::{LogWish, Place};
use crate::tui::msg::LogDelta;

use super::Read;
use super::figures::{Figures, Gather};
use super::stream::{PIECE, Step, Stream};

/// Bytes of a log that are shown at once; other parts of it are read when they are gone to.
pub const LOG_CAP: u64 = 64 << 20;
/// Bytes before the end that are read when the end is gone to.
const TAIL: u64 = 8 << 20;

/// Where a log's reader stands.
#[derive(Debug)]
pub struct Reading {
    key: LogKey,
    /// From the beginning: it counts.
    whole: Stream,
    /// What is shown, where that is not all of it from the beginning.
    show: Option<Stream>,
    gather: Gather,
    /// Size and time of a document when it was read whole.
    document: Option<(u64, Option<f64>)>,
    /// Bytes of it that are shown.
    held: u64,
    /// Entries of it.
    given: usize,
    model: Option<String>,
    /// When it was last written to.
    written_s: Option<f64>,
}

/// Reads what was added, or what the wish goes to.
pub fn read_on(slot: &mut Option<Reading>, read: &Read<'_>, wish: &LogWish) -> Answer<LogDelta> {
    let known = slot.take().filter(|reading| reading.key == wish.key);
    let mut reading = match (known, wish.restart) {
        (Some(known), None) => known,
        (Some(known), Some(place)) if wish.raw || place != Place::Start => known,
        _ => Reading::new(wish),
    };
    let part = wish.raw || wish.restart.is_some_and(|place| place != Place::Start);
    if part && let Err(error) = reading.go(read, wish) {
        *slot = Some(reading);
        return Err(error);
    }
    let answer = reading.read(read, wish);
    *slot = Some(reading);
    answer.map(|delta| LogDelta {
        ticket: wish.ticket,
        ..delta
    })
}

impl Reading {
    fn new(wish: &LogWish) -> Self {
        Self {
            key: wish.key.clone(),
            whole: Stream::new(wish.format, 0, wish.since_s),
            show: None,
            gather: Gather::new(wish.format),
            document: None,
            held: 0,
            given: 0,
            model: None,
            written_s: None,
        }
    }

    /// Begins what is shown anew where the wish says so.
    fn go(&mut self, read: &Read<'_>, wish: &LogWish) -> Answer<()> {
        if wish.restart.is_none() && self.show.is_some() {
            return Ok(());
        }
        let from = match wish.restart {
            None | Some(Place::Start) => 0,
            Some(Place::At(from)) => from,
            Some(Place::End) => read(&self.key, 0, 0)?.size.saturating_sub(TAIL),
        };
        self.show = Some(Stream::new(shown(wish), from, wish.since_s));
        Ok(())
    }

    fn read(&mut self, read: &Read<'_>, wish: &LogWish) -> Answer<LogDelta> {
        let Some(mut show) = self.show.take() else {
            return if wish.format.is_document() {
                self.document(read, wish)
            } else {
                self.stream(read, wish)
            };
        };
        let mut delta = LogDelta {
            len: show.given,
            cut: wish.full,
            from: show.from,
            ..LogDelta::default()
        };
        let mut written_s = None;
        // of a part that is full no more is read
        if !wish.full {
            let Some(step) = show.step(&self.key, read, wish, false)? else {
                *self = Self::new(wish);
                return self.anew(read, wish);
            };
            delta = LogDelta {
                entries: step.entries,
                len: show.given,
                more: step.more,
                to: show.line,
                size: step.size,
                ..delta
            };
            written_s = step.written_s;
        }
        self.show = Some(show);
        if !delta.more {
            delta.more = self.count(read, wish)?;
        }
        delta.figures = Some(self.figures(written_s.or(self.written_s)));
        Ok(delta)
    }

    /// Counts on in what is not shown; tells whether there is more to count.
    fn count(&mut self, read: &Read<'_>, wish: &LogWish) -> Answer<bool> {
        if wish.format.is_document() {
            self.document(read, wish)?;
            return Ok(false);
        }
        // plain text has no figures worth the rest of a gigabyte
        if wish.format == LogFormat::Text {
            return Ok(false);
        }
        let Some(step) = self.whole.step(&self.key, read, wish, false)? else {
            self.whole = Stream::new(wish.format, 0, wish.since_s);
            self.gather = Gather::new(wish.format);
            return Ok(true);
        };
        self.counted(&step);
        Ok(step.more)
    }

    fn counted(&mut self, step: &Step) {
        for (at, entry) in &step.entries {
            self.gather.take(*at, entry);
        }
        self.model.clone_from(&self.whole.reader.facts().model);
    }

    fn stream(&mut self, read: &Read<'_>, wish: &LogWish) -> Answer<LogDelta> {
        // the figures want all entries, also those that are not shown
        let given = self.whole.given;
        let Some(mut step) = self.whole.step(&self.key, read, wish, false)? else {
            *self = Self::new(wish);
            return self.anew(read, wish);
        };
        self.counted(&step);
        if wish.full {
            step.entries.retain(|(at, _)| *at < given);
            self.whole.given = given;
        }
        let text = wish.format == LogFormat::Text;
        Ok(LogDelta {
            entries: step.entries,
            len: self.whole.given,
            more: step.more && !(wish.full && text),
            cut: wish.full,
            from: 0,
            to: if wish.full { 0 } else { self.whole.line },
            size: step.size,
            figures: Some(self.figures(step.written_s)),
            ..LogDelta::default()
        })
    }

    /// All of a log that was rewritten in one answer, so that nothing half-read is seen.
    fn anew(&mut self, read: &Read<'_>, wish: &LogWish) -> Answer<LogDelta> {
        let wish = &LogWish {
            restart: None,
            full: false,
            ..wish.clone()
        };
        if wish.raw {
            self.show = Some(Stream::new(LogFormat::Text, 0, wish.since_s));
        }
        let mut whole = LogDelta::default();
        loop {
            let piece = self.read(read, wish)?;
            let more = piece.more && piece.to < LOG_CAP;
            whole.entries.extend(piece.entries);
            whole = LogDelta {
                entries: whole.entries,
                replaced: true,
                ..piece
            };
            if !more {
                return Ok(whole);
            }
        }
    }

    fn same(&mut self, written_s: Option<f64>, size: u64) -> LogDelta {
        LogDelta {
            len: self.given,
            figures: Some(self.figures(written_s)),
            cut: size > LOG_CAP,
            to: size,
            size,
            ..LogDelta::default()
        }
    }

    fn figures(&mut self, written_s: Option<f64>) -> Figures {
        self.written_s = written_s;
        self.gather.figures(self.model.clone(), written_s)
    }

    fn document(&mut self, read: &Read<'_>, wish: &LogWish) -> Answer<LogDelta> {
        let mut reader = TraceReader::new(wish.format);
        let mut next = 0;
        let before = self.document;
        let full = self.held >= LOG_CAP;
        let (cut, written_s, size) = loop {
            let chunk = read(&self.key, next, PIECE)?;
            let mark = (chunk.size, chunk.written_s);
            if next == 0 {
                let gone = chunk.size == 0 && wish.grows && self.given > 0;
                // it grows behind what is shown of it, and to read that again would tell nothing
                let known = before.map_or(u64::MAX, |(size, _)| size);
                let behind = wish.grows && full && chunk.size >= known;
                if self.document == Some(mark) || gone || behind {
                    return Ok(self.same(chunk.written_s, chunk.size));
                }
                self.document = Some(mark);
            }
            reader.feed(&chunk.bytes);
            next = chunk.next;
            if chunk.at_end || chunk.bytes.is_empty() {
                break (false, chunk.written_s, chunk.size);
            }
            if next >= LOG_CAP {
                break (true, chunk.written_s, chunk.size);
            }
        };
        let entries = if next == 0 { Vec::new() } else { reader.tail() };
        let count = entries.iter().map(|(at, _)| at + 1).max().unwrap_or(0);
        // read in the middle of being written: the whole one is about to come
        if wish.grows && !cut && reader.facts().cut && count <= self.given && self.given > 0 {
            self.document = before.filter(|_| full);
            return Ok(self.same(written_s, size));
        }
        self.gather = Gather::new(wish.format);
        for (at, entry) in &entries {
            self.gather.take(*at, entry);
        }
        self.given = count;
        self.held = next;
        self.model.clone_from(&reader.facts().model);
        Ok(LogDelta {
            entries,
            len: count,
            cut,
            replaced: true,
            to: next,
            size,
            figures: Some(self.figures(written_s)),
            ..LogDelta::default()
        })
    }
}

fn shown(wish: &LogWish) -> LogFormat {
    if wish.raw {
        LogFormat::Text
    } else {
        wish.format
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use std::cell::{Cell, RefCell};

    use super::*;
    use crate::tui::backend::LogChunk;

    #[test]
    fn a_document_over_the_bound_is_read_once_and_then_only_looked_at() {
        // a rewritten trajectory, as one file whose end is never come to
        let mut log = b"{\"messages\":[".to_vec();
        let long = "x".repeat(1 << 20);
        while (log.len() as u64) < LOG_CAP + (2 << 20) {
            log.extend_from_slice(
                format!("{{\"role\":\"assistant\",\"content\":\"{long}\"}},").as_bytes(),
            );
        }
        let (file, read_bytes) = (RefCell::new(log), Cell::new(0));
        let written = Cell::new(100.0);
        let read = |_: &LogKey, from: u64, max: usize| -> Answer<LogChunk> {
            let file = file.borrow();
            let rest = &file[usize::try_from(from).unwrap()..];
            let bytes = rest[..rest.len().min(max)].to_vec();
            read_bytes.set(read_bytes.get() + bytes.len());
            Ok(LogChunk {
                next: from + bytes.len() as u64,
                at_end: bytes.len() == rest.len(),
                bytes,
                written_s: Some(written.get()),
                size: file.len() as u64,
            })
        };
        let wish = LogWish {
            key: LogKey::Agent {
                task: "t".into(),
                submission: "s".into(),
            },
            format: LogFormat::Mini,
            ticket: 0,
            restart: None,
            raw: false,
            full: false,
            grows: true,
            since_s: None,
        };
        let mut slot = None;
        let looked = |slot: &mut Option<Reading>| {
            read_bytes.set(0);
            let delta = read_on(slot, &read, &wish).unwrap();
            let written = delta.figures.unwrap().written_s;
            (
                delta.replaced,
                delta.cut,
                delta.len,
                written,
                read_bytes.get(),
            )
        };
        let (replaced, cut, len, ..) = looked(&mut slot);
        assert!(replaced && cut && len >= 60, "{len}");
        for now in [101.0, 102.0] {
            file.borrow_mut()
                .extend_from_slice(b"{\"role\":\"assistant\"},");
            written.set(now);
            let looked = looked(&mut slot);
            assert_eq!(looked, (false, true, len, Some(now), PIECE));
        }
        // in the middle of being written: what was there stays
        file.borrow_mut().truncate(1 << 20);
        let (replaced, _, now, ..) = looked(&mut slot);
        assert_eq!((replaced, now), (false, len));
        // another, shorter one
        *file.borrow_mut() = b"{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}".to_vec();
        let (replaced, cut, len, ..) = looked(&mut slot);
        assert_eq!((replaced, cut, len), (true, false, 1));
    }
}
