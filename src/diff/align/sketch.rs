//! How alike two texts are, at a bounded cost: shingles of tokens, of which the smallest hashes
//! are kept.

use std::collections::HashSet;

/// Tokens of a shingle.
const WIDTH: usize = 3;
/// Hashes kept of a text.
pub const KEPT: usize = 128;
/// Tokens looked at: what is larger is known well enough by its beginning.
const MOST: usize = 50_000;

/// The smallest hashes of a text's shingles, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sketch(Vec<u64>);

impl Sketch {
    pub fn new<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut last = [0u64; WIDTH];
        let mut hashes: Vec<u64> = Vec::new();
        for (count, token) in lines.flat_map(tokens).take(MOST).enumerate() {
            last.rotate_left(1);
            last[WIDTH - 1] = token;
            if count + 1 >= WIDTH {
                hashes.push(last.iter().fold(SEED, |hash, token| mix(hash ^ token)));
            }
        }
        if hashes.len() > 4 * KEPT {
            // a few repeats among them are no harm
            hashes.select_nth_unstable(4 * KEPT);
            hashes.truncate(4 * KEPT);
        }
        hashes.sort_unstable();
        hashes.dedup();
        hashes.truncate(KEPT);
        Self(hashes)
    }

    pub fn hashes(&self) -> &[u64] {
        &self.0
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Shared shingles of all, in thousandths: exact for small texts, else an estimate.
    pub fn likeness(&self, other: &Self) -> u32 {
        let whole = self.len() < KEPT && other.len() < KEPT;
        let (mut i, mut j, mut seen, mut shared) = (0, 0, 0u32, 0u32);
        while let (Some(a), Some(b)) = (self.0.get(i), other.0.get(j)) {
            if !whole && seen as usize >= KEPT {
                break;
            }
            seen += 1;
            shared += u32::from(a == b);
            i += usize::from(a <= b);
            j += usize::from(b <= a);
        }
        if whole {
            seen += (self.len() - i + other.len() - j) as u32;
        }
        (shared * 1000).checked_div(seen).unwrap_or(0)
    }
}

/// Words shared of all words of two names, split as people write them, in thousandths.
pub fn name_likeness(a: &str, b: &str) -> u32 {
    let words = |name: &str| -> HashSet<String> {
        name.split(['.', '_'])
            .filter(|w| !w.is_empty())
            .map(str::to_lowercase)
            .collect()
    };
    let (a, b) = (words(a), words(b));
    let all = a.union(&b).count() as u32;
    if all == 0 {
        return 0;
    }
    a.intersection(&b).count() as u32 * 1000 / all
}

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finish of splitmix64: every bit counts for every other.
fn mix(mut hash: u64) -> u64 {
    hash = hash.wrapping_add(SEED);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// Hashes of a line's names, numbers and other characters, without white space.
fn tokens(line: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || *b >= 0x80;
    let mut rest = line;
    std::iter::from_fn(move || {
        rest = rest.trim_ascii_start();
        let first = rest.first()?;
        let end = if word(first) {
            rest.iter().position(|b| !word(b)).unwrap_or(rest.len())
        } else {
            1
        };
        let (token, after) = rest.split_at(end);
        rest = after;
        let hash = token.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, b| {
            (hash ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3)
        });
        Some(hash)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sketch(text: &str) -> Sketch {
        Sketch::new(text.lines().map(str::as_bytes))
    }

    #[test]
    fn likeness_is_of_tokens() {
        let a = sketch("def flush(self):\n    return self.total / world\n");
        assert_eq!(a.likeness(&a), 1000);
        let spaced = sketch("def  flush( self ) :\n  return self . total/world\n");
        assert_eq!(a.likeness(&spaced), 1000);
        let renamed = sketch("def drain(self):\n    return self.total / world\n");
        assert!((500..1000).contains(&a.likeness(&renamed)));
        assert_eq!(a.likeness(&sketch("import numpy as np\nx = 1\n")), 0);
        assert_eq!(
            sketch("").likeness(&sketch("")),
            0,
            "nothing is like nothing"
        );
    }

    #[test]
    fn large_texts_are_estimated() {
        let lines = |range: std::ops::Range<u32>| -> String {
            let lines: Vec<String> = range.map(|n| format!("x{n} = f(y{n})")).collect();
            lines.join("\n")
        };
        let (text, half) = (lines(0..4000), lines(2000..6000));
        let (a, b) = (sketch(&text), sketch(&half));
        assert_eq!(a.len(), KEPT);
        assert_eq!(a.likeness(&a), 1000);
        // a third is shared
        assert!((200..480).contains(&a.likeness(&b)), "{}", a.likeness(&b));
        assert_eq!(a.likeness(&b), b.likeness(&a));
    }

    #[test]
    fn names_are_compared_word_by_word() {
        assert_eq!(name_likeness("Bucket.add_grad", "Bucket.add_grad"), 1000);
        assert_eq!(name_likeness("Bucket.add_grad", "_Bucket.add"), 666);
        assert_eq!(name_likeness("", ""), 0);
    }
}
