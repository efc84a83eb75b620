//! A whole log from a source, piece by piece: memory holds a piece and the longest line.

use std::io::{self, ErrorKind, Read};

use crate::domain::submission::LogFormat;

use super::document;
use super::entry::Entry;
use super::facts::Facts;
use super::reader::{Out, TraceReader};

const PIECE: usize = 256 * 1024;

/// Gives each new or completed entry with its index.
pub fn read(
    mut source: impl Read,
    format: LogFormat,
    each: &mut dyn FnMut(usize, Entry),
) -> io::Result<Facts> {
    if format.is_document() {
        let mut out = Out::default();
        document::walk(source, format, &mut out, &mut |out| {
            for (at, entry) in out.drain() {
                each(at, entry);
            }
        })?;
        return Ok(out.facts);
    }
    let mut reader = TraceReader::new(format);
    let mut piece = vec![0; PIECE];
    loop {
        let length = match source.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => length,
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        for (at, entry) in reader.feed(&piece[..length]) {
            each(at, entry);
        }
    }
    for (at, entry) in reader.finish() {
        each(at, entry);
    }
    Ok(reader.facts().clone())
}
