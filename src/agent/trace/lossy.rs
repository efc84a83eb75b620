//! A source whose bytes that are no UTF-8 come out as U+FFFD, so that one of them does not lose
//! the rest of a document.

use std::io::{self, Read};

const PIECE: usize = 64 << 10;

/// Memory holds one piece.
pub struct Lossy<R> {
    source: R,
    /// The begun character at the end of the last piece: at most three bytes.
    begun: Vec<u8>,
    ready: Vec<u8>,
    at: usize,
}

impl<R: Read> Lossy<R> {
    pub fn new(source: R) -> Self {
        Self {
            source,
            begun: Vec::new(),
            ready: Vec::new(),
            at: 0,
        }
    }

    /// `false`: the source has ended.
    fn fill(&mut self) -> io::Result<bool> {
        let mut bytes = std::mem::take(&mut self.begun);
        let kept = bytes.len();
        bytes.resize(kept + PIECE, 0);
        let length = match self.source.read(&mut bytes[kept..]) {
            Ok(length) => length,
            Err(e) => {
                bytes.truncate(kept);
                self.begun = bytes;
                return Err(e);
            }
        };
        bytes.truncate(kept + length);
        self.ready.clear();
        self.at = 0;
        let mut rest = bytes.as_slice();
        while let Err(e) = std::str::from_utf8(rest) {
            let (good, bad) = rest.split_at(e.valid_up_to());
            self.ready.extend_from_slice(good);
            match e.error_len() {
                // it may go on in the next piece
                None if length > 0 => {
                    self.begun = bad.to_vec();
                    return Ok(true);
                }
                wrong => {
                    self.ready.extend_from_slice("\u{fffd}".as_bytes());
                    rest = &bad[wrong.unwrap_or(bad.len())..];
                }
            }
        }
        self.ready.extend_from_slice(rest);
        Ok(length > 0)
    }
}

impl<R: Read> Read for Lossy<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.ready.len() {
            if !self.fill()? && self.ready.is_empty() {
                return Ok(0);
            }
        }
        let rest = &self.ready[self.at..];
        let length = rest.len().min(into.len());
        into[..length].copy_from_slice(&rest[..length]);
        self.at += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    struct ByOne<'a>(&'a [u8]);

    impl Read for ByOne<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let length = self.0.len().min(into.len()).min(1);
            self.0.read(&mut into[..length])
        }
    }

    #[test]
    fn it_is_as_the_standard_library_reads_it() {
        for bytes in [
            &b"plain"[..],
            b"",
            "caf\u{e9} \u{1f600}".as_bytes(),
            b"a\xff\xfeb\xe2\x82",
            b"\xf0\x9f\x98x\xed\xa0\x80\xc3",
        ] {
            let expected = String::from_utf8_lossy(bytes);
            let (mut whole, mut pieces) = (String::new(), String::new());
            Lossy::new(bytes).read_to_string(&mut whole).unwrap();
            Lossy::new(ByOne(bytes))
                .read_to_string(&mut pieces)
                .unwrap();
            assert_eq!((whole.as_str(), pieces.as_str()), (&*expected, &*expected));
        }
    }
}
