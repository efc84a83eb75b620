//! When the bytes of a growing log came, as its worker stamped them.

use std::collections::VecDeque;

use crate::tui::backend::{Answer, LogKey};

use super::Read;

/// Bytes of the stamps read at a time.
const PIECE: usize = 64 << 10;

/// Reads lines of `milliseconds bytes`: a piece of so many bytes came so long after the start.
#[derive(Debug, Default)]
pub struct Arrivals {
    since_s: f64,
    /// Byte offset in the file of stamps.
    next: u64,
    /// A line that is not whole yet.
    cut: Vec<u8>,
    /// Bytes of the log that were stamped so far.
    covered: u64,
    /// Ends of pieces in the log, and when they came.
    pieces: VecDeque<(u64, f64)>,
}

impl Arrivals {
    pub fn new(since_s: f64) -> Self {
        Self {
            since_s,
            ..Self::default()
        }
    }

    /// Reads stamps up to a byte of the log, or as far as there are any.
    pub fn learn(&mut self, read: &Read<'_>, key: &LogKey, upto: u64) -> Answer<()> {
        while self.covered < upto {
            let chunk = read(key, self.next, PIECE)?;
            if chunk.bytes.is_empty() {
                break;
            }
            self.next = chunk.next;
            self.take(&chunk.bytes);
        }
        Ok(())
    }

    fn take(&mut self, bytes: &[u8]) {
        self.cut.extend_from_slice(bytes);
        let whole = memchr::memrchr(b'\n', &self.cut).map_or(0, |at| at + 1);
        let rest = self.cut.split_off(whole);
        let lines = std::mem::replace(&mut self.cut, rest);
        for line in String::from_utf8_lossy(&lines).lines() {
            let mut words = line.split_whitespace();
            let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
            let (Some(milliseconds), Some(length)) = (number(), number()) else {
                continue;
            };
            self.covered = self.covered.saturating_add(length);
            let at_s = self.since_s + milliseconds as f64 / 1000.0;
            self.pieces.push_back((self.covered, at_s));
        }
    }

    /// The piece that a byte of the log belongs to: its end, and when it came. Asked in order.
    pub fn of(&mut self, at: u64) -> Option<(u64, f64)> {
        while self.pieces.front().is_some_and(|(end, _)| *end <= at) {
            self.pieces.pop_front();
        }
        self.pieces.front().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_found_in_their_pieces_whatever_the_stamps_are_cut_into() {
        let mut arrivals = Arrivals::new(100.0);
        for piece in ["0 1", "0\n15", "00 5\nnonsense\n2500 ", "7\n"] {
            arrivals.take(piece.as_bytes());
        }
        assert_eq!(arrivals.of(0), Some((10, 100.0)));
        assert_eq!(arrivals.of(9), Some((10, 100.0)));
        assert_eq!(arrivals.of(10), Some((15, 101.5)));
        assert_eq!(arrivals.of(21), Some((22, 102.5)));
        assert_eq!(arrivals.of(22), None);
    }
}
