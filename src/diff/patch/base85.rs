//! git's base 85, as in `GIT binary patch`.

const ALPHABET: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

const NONE: u8 = 255;

const fn table() -> [u8; 256] {
    let mut table = [NONE; 256];
    let mut at = 0;
    while at < ALPHABET.len() {
        table[ALPHABET[at] as usize] = at as u8;
        at += 1;
    }
    table
}

static VALUES: [u8; 256] = table();

/// Appends the bytes of one line: a length letter (A-Z: 1 to 26, a-z: 27 to 52), then groups of
/// five digits. `None` when the line is not such a line.
pub(super) fn decode_line(line: &[u8], into: &mut Vec<u8>) -> Option<()> {
    let (&letter, digits) = line.split_first()?;
    let mut left = match letter {
        b'A'..=b'Z' => usize::from(letter - b'A') + 1,
        b'a'..=b'z' => usize::from(letter - b'a') + 27,
        _ => return None,
    };
    if digits.len() != left.div_ceil(4) * 5 {
        return None;
    }
    for group in digits.chunks_exact(5) {
        let mut value: u64 = 0;
        for &digit in group {
            let digit = VALUES[usize::from(digit)];
            if digit == NONE {
                return None;
            }
            value = value * 85 + u64::from(digit);
        }
        let word = u32::try_from(value).ok()?.to_be_bytes();
        let take = left.min(4);
        into.extend_from_slice(&word[..take]);
        left -= take;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn decodes_the_line_that_git_prints() {
        // `printf '\0\1\2\3\377' | git hash-object …`: taken from `git diff --binary`
        let mut out = Vec::new();
        decode_line(b"D00000", &mut out).unwrap();
        assert_eq!(out, [0, 0, 0, 0]);
        out.clear();
        // 0xffffffff is the largest group: 85^5 > 2^32
        decode_line(b"D|NsC0", &mut out).unwrap();
        assert_eq!(out, [255, 255, 255, 255]);
    }

    #[test]
    fn refuses_what_is_no_such_line() {
        for line in [
            &b""[..],
            b"D0000",
            b"D0000\"",
            b"D~~~~~",
            b"100000",
            b"E00000",
        ] {
            assert_eq!(decode_line(line, &mut Vec::new()), None, "{line:?}");
        }
    }
}
