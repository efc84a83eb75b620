//! Inflating and applying the data of binary patches. Sizes are bounded before memory is taken.

use std::io::Read;

use flate2::read::ZlibDecoder;

use super::types::{BinaryHunk, BinaryKind};

/// Why a binary patch could not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BinaryError {
    #[error("its data is damaged (it does not inflate to the {0} bytes it announces)")]
    Damaged(u64),
    #[error("its delta is damaged")]
    Delta,
    #[error("its delta was made against a file of another size than base's")]
    OtherBase,
    #[error("the file would be larger than {0} bytes")]
    TooLarge(u64),
}

impl BinaryHunk {
    /// The new content, from the old one. `limit`: the largest result in bytes.
    pub fn apply(&self, old: &[u8], limit: u64) -> Result<Vec<u8>, BinaryError> {
        let data = self.inflate(limit)?;
        match self.kind {
            BinaryKind::Literal => Ok(data),
            BinaryKind::Delta => apply_delta(old, &data, limit),
        }
    }

    fn inflate(&self, limit: u64) -> Result<Vec<u8>, BinaryError> {
        if self.size > limit {
            return Err(BinaryError::TooLarge(limit));
        }
        let mut out = Vec::new();
        // one byte more than announced tells "longer" from "as long"
        ZlibDecoder::new(self.deflated.as_slice())
            .take(self.size + 1)
            .read_to_end(&mut out)
            .map_err(|_| BinaryError::Damaged(self.size))?;
        if out.len() as u64 != self.size {
            return Err(BinaryError::Damaged(self.size));
        }
        Ok(out)
    }
}

/// git's delta: two sizes, then copies from the old content and inserts.
fn apply_delta(old: &[u8], delta: &[u8], limit: u64) -> Result<Vec<u8>, BinaryError> {
    let mut bytes = delta.iter().copied();
    if varint(&mut bytes)? != old.len() as u64 {
        return Err(BinaryError::OtherBase);
    }
    let size = varint(&mut bytes)?;
    if size > limit {
        return Err(BinaryError::TooLarge(limit));
    }
    let mut out = Vec::new();
    while let Some(op) = bytes.next() {
        if op & 0x80 != 0 {
            let mut field = |from: u8, count: u8| -> Result<usize, BinaryError> {
                let mut value = 0;
                for at in 0..count {
                    if op & (1 << (from + at)) != 0 {
                        let byte = bytes.next().ok_or(BinaryError::Delta)?;
                        value |= usize::from(byte) << (8 * at);
                    }
                }
                Ok(value)
            };
            let offset = field(0, 4)?;
            let length = match field(4, 3)? {
                0 => 0x1_0000,
                length => length,
            };
            let piece = old.get(offset..offset + length).ok_or(BinaryError::Delta)?;
            out.extend_from_slice(piece);
        } else if op != 0 {
            for _ in 0..op {
                out.push(bytes.next().ok_or(BinaryError::Delta)?);
            }
        } else {
            return Err(BinaryError::Delta);
        }
        if out.len() as u64 > size {
            return Err(BinaryError::Delta);
        }
    }
    if out.len() as u64 == size {
        Ok(out)
    } else {
        Err(BinaryError::Delta)
    }
}

fn varint(bytes: &mut impl Iterator<Item = u8>) -> Result<u64, BinaryError> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let byte = bytes.next().ok_or(BinaryError::Delta)?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(BinaryError::Delta)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_delta_copies_and_inserts() {
        // old "abcdef" (6) -> "defXab" (6): copy 3..6, insert X, copy 0..2
        let delta = [6, 6, 0x91, 3, 3, 1, b'X', 0x90, 2];
        assert_eq!(apply_delta(b"abcdef", &delta, 100).unwrap(), b"defXab");
        assert_eq!(
            apply_delta(b"abcde", &delta, 100),
            Err(BinaryError::OtherBase)
        );
        assert_eq!(
            apply_delta(b"abcdef", &delta, 5),
            Err(BinaryError::TooLarge(5))
        );
        assert_eq!(
            apply_delta(b"abcdef", &delta[..8], 100),
            Err(BinaryError::Delta),
            "cut in an operation"
        );
        assert_eq!(
            apply_delta(b"abcdef", &[6, 3, 0x91, 5, 3], 100),
            Err(BinaryError::Delta),
            "a copy beyond the old end"
        );
    }
}
