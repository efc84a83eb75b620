//! Frames: the bytes between the worker and process 1.
//!
//! A frame is two little-endian `u32`, the length of the header and the length of the payload,
//! then the header (JSON) and the payload (raw). Both lengths are bounded: whoever reads believes
//! nothing of what it is told, and a frame over the bound ends the conversation.

use std::io::Read;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Longest header: a spawn with a large environment is far below it.
pub const HEADER_MAX: usize = 4 << 20;
/// Longest payload: standard input given to a process; output comes in far smaller pieces.
pub const PAYLOAD_MAX: usize = 64 << 20;
const PREFIX: usize = 8;

/// Why bytes are not a frame.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error(
        "a frame of {header} + {payload} bytes is over the bound of {HEADER_MAX} + {PAYLOAD_MAX}"
    )]
    TooLong { header: usize, payload: usize },
    #[error("the stream ended in the middle of a frame")]
    Torn,
    #[error("a frame's header is not what was agreed on: {0}")]
    Header(#[from] serde_json::Error),
    #[error("reading a frame: {0}")]
    Io(#[from] std::io::Error),
}

/// One frame as bytes.
pub fn encode<T: Serialize>(header: &T, payload: &[u8]) -> Result<Vec<u8>, FrameError> {
    let header = serde_json::to_vec(header)?;
    check(header.len(), payload.len())?;
    let mut bytes = Vec::with_capacity(PREFIX + header.len() + payload.len());
    // both fit: they were checked against bounds far below u32::MAX
    bytes.extend_from_slice(&(header.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&header);
    bytes.extend_from_slice(payload);
    Ok(bytes)
}

/// Reads exactly one frame and not a byte more: what follows belongs to another reader. `None` at
/// a clean end of the stream.
pub fn read_one<T: DeserializeOwned>(
    reader: &mut impl Read,
) -> Result<Option<(T, Vec<u8>)>, FrameError> {
    let mut prefix = [0; PREFIX];
    let mut have = 0;
    while have < PREFIX {
        match reader.read(&mut prefix[have..]) {
            Ok(0) if have == 0 => return Ok(None),
            Ok(0) => return Err(FrameError::Torn),
            Ok(n) => have += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e.into()),
        }
    }
    let (header, payload) = lengths(prefix)?;
    let mut bytes = vec![0; header + payload];
    reader.read_exact(&mut bytes).map_err(|e| {
        if e.kind() == std::io::ErrorKind::UnexpectedEof {
            FrameError::Torn
        } else {
            e.into()
        }
    })?;
    let payload = bytes.split_off(header);
    Ok(Some((serde_json::from_slice(&bytes)?, payload)))
}

/// Collects bytes as they come and gives back whole frames.
#[derive(Debug, Default)]
pub struct Decoder {
    bytes: Vec<u8>,
    /// Where the first frame that was not given back begins.
    start: usize,
}

impl Decoder {
    pub fn push(&mut self, bytes: &[u8]) {
        // move what is left to the front only when that is cheap against what was used up
        if self.start > 0 && self.start * 2 >= self.bytes.len() {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole frame; `None` when more bytes are needed.
    pub fn take<T: DeserializeOwned>(&mut self) -> Result<Option<(T, Vec<u8>)>, FrameError> {
        let rest = &self.bytes[self.start..];
        let Some(prefix) = rest.first_chunk::<PREFIX>() else {
            return Ok(None);
        };
        let (header, payload) = lengths(*prefix)?;
        let Some(frame) = rest[PREFIX..].get(..header + payload) else {
            return Ok(None);
        };
        let (head, body) = frame.split_at(header);
        let frame = (serde_json::from_slice(head)?, body.to_vec());
        self.start += PREFIX + header + payload;
        Ok(Some(frame))
    }

    /// Whether the stream may end here: no frame has begun.
    pub fn at_boundary(&self) -> bool {
        self.start == self.bytes.len()
    }
}

fn lengths(prefix: [u8; PREFIX]) -> Result<(usize, usize), FrameError> {
    let both = u64::from_le_bytes(prefix);
    let header = (both & u64::from(u32::MAX)) as usize;
    let payload = (both >> 32) as usize;
    check(header, payload)?;
    Ok((header, payload))
}

fn check(header: usize, payload: usize) -> Result<(), FrameError> {
    if header > HEADER_MAX || payload > PAYLOAD_MAX {
        return Err(FrameError::TooLong { header, payload });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::{Message, Stream};
    use super::*;

    fn output(id: u32) -> Message {
        Message::Output {
            id,
            stream: Stream::Stdout,
        }
    }

    #[test]
    fn frames_survive_any_cut() {
        let mut bytes = encode(&output(1), b"one\0").unwrap();
        bytes.extend(encode(&Message::Ready, b"").unwrap());
        bytes.extend(encode(&output(2), &[7; 1000]).unwrap());
        for step in 1..40 {
            let mut decoder = Decoder::default();
            let mut seen = Vec::new();
            for chunk in bytes.chunks(step) {
                decoder.push(chunk);
                while let Some(frame) = decoder.take::<Message>().unwrap() {
                    seen.push(frame);
                }
            }
            assert!(decoder.at_boundary());
            assert_eq!(
                seen,
                [
                    (output(1), b"one\0".to_vec()),
                    (Message::Ready, vec![]),
                    (output(2), vec![7; 1000])
                ]
            );
        }
    }

    #[test]
    fn a_length_over_the_bound_is_refused_before_anything_is_allocated() {
        let mut decoder = Decoder::default();
        decoder.push(&[0xff; 8]);
        assert!(matches!(
            decoder.take::<Message>(),
            Err(FrameError::TooLong { .. })
        ));
        assert!(matches!(
            read_one::<Message>(&mut &[0xff_u8; 64][..]),
            Err(FrameError::TooLong { .. })
        ));
    }

    #[test]
    fn bytes_that_are_no_message_are_an_error() {
        let mut decoder = Decoder::default();
        decoder.push(&encode(&"hello", b"").unwrap());
        assert!(matches!(
            decoder.take::<Message>(),
            Err(FrameError::Header(_))
        ));
    }

    #[test]
    fn a_torn_frame_is_told_from_a_clean_end() {
        let bytes = encode(&Message::Ready, b"").unwrap();
        assert!(read_one::<Message>(&mut &bytes[..0]).unwrap().is_none());
        for cut in 1..bytes.len() {
            assert!(matches!(
                read_one::<Message>(&mut &bytes[..cut]),
                Err(FrameError::Torn)
            ));
        }
        let mut rest = &[bytes.clone(), b"rest".to_vec()].concat()[..];
        assert!(read_one::<Message>(&mut rest).unwrap().is_some());
        assert_eq!(rest, b"rest");
    }
}
