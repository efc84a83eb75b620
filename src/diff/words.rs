//! Which words of a changed line changed.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};

/// Longer lines get no word diff: nobody reads it, and it costs.
pub const MAX_LINE: usize = 2_000;

/// Lines that share less than this of the longer one are two lines, not one that changed.
const SIMILAR: f64 = 0.4;

/// Changed byte ranges of either line, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordDiff {
    pub old: Vec<Range<u32>>,
    pub new: Vec<Range<u32>>,
}

/// The words that differ; `None` where the lines are too long, or too different to be a pair.
pub fn word_diff(old: &[u8], new: &[u8]) -> Option<WordDiff> {
    if old.len() > MAX_LINE || new.len() > MAX_LINE {
        return None;
    }
    let (before, after) = (words(old), words(new));
    let mut input: InternedInput<&[u8]> = InternedInput::default();
    input.update_before(before.iter().map(|w| &old[range(w)]));
    input.update_after(after.iter().map(|w| &new[range(w)]));
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    diff.postprocess_no_heuristic(&input);
    let weight = |line: &[u8], word: &Range<u32>| -> usize {
        line[range(word)]
            .iter()
            .filter(|b| !b.is_ascii_whitespace())
            .count()
    };
    let total =
        |line: &[u8], all: &[Range<u32>]| all.iter().map(|w| weight(line, w)).sum::<usize>();
    let kept: usize = before
        .iter()
        .enumerate()
        .filter(|(at, _)| !diff.is_removed(*at as u32))
        .map(|(_, w)| weight(old, w))
        .sum();
    let longer = total(old, &before).max(total(new, &after));
    if longer > 0 && (kept as f64) < SIMILAR * longer as f64 {
        return None;
    }
    let mut found = WordDiff::default();
    for hunk in diff.hunks() {
        push(&mut found.old, &before, hunk.before, old);
        push(&mut found.new, &after, hunk.after, new);
    }
    Some(found)
}

fn range(word: &Range<u32>) -> Range<usize> {
    word.start as usize..word.end as usize
}

/// Appends the bytes of words; two changed words with only spaces between them are one range.
fn push(into: &mut Vec<Range<u32>>, words: &[Range<u32>], hunk: Range<u32>, line: &[u8]) {
    if hunk.is_empty() {
        return;
    }
    let (start, end) = (
        words[hunk.start as usize].start,
        words[hunk.end as usize - 1].end,
    );
    match into.last_mut() {
        Some(last)
            if line[range(&(last.end..start))]
                .iter()
                .all(u8::is_ascii_whitespace) =>
        {
            last.end = end;
        }
        _ => into.push(start..end),
    }
}

/// Names and numbers, runs of space, and each other byte by itself.
fn words(line: &[u8]) -> Vec<Range<u32>> {
    // a character of several bytes is part of a name: no range ends inside of it
    let class = |b: u8| match b {
        b'_' | 0x80.. => 1,
        _ if b.is_ascii_alphanumeric() => 1,
        _ if b.is_ascii_whitespace() => 2,
        _ => 3,
    };
    let mut words: Vec<Range<u32>> = Vec::new();
    let mut last = 0;
    for (at, &byte) in line.iter().enumerate() {
        let class = class(byte);
        let at = at as u32;
        match words.last_mut() {
            Some(word) if class == last && class != 3 => word.end = at + 1,
            _ => words.push(at..at + 1),
        }
        last = class;
    }
    words
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn marked(old: &str, new: &str) -> Option<(Vec<String>, Vec<String>)> {
        let diff = word_diff(old.as_bytes(), new.as_bytes())?;
        let cut = |line: &str, ranges: Vec<Range<u32>>| -> Vec<String> {
            ranges.iter().map(|r| line[range(r)].to_owned()).collect()
        };
        Some((cut(old, diff.old), cut(new, diff.new)))
    }

    #[test]
    fn only_the_words_that_differ_are_marked() {
        let (old, new) =
            marked("    return total / world", "    return total / (world + 1)").unwrap();
        assert_eq!(old, [""; 0]);
        assert_eq!(new, ["(", " + 1)"].map(str::to_owned).to_vec());
        let (old, new) = marked("x = foo(a, b)", "x = bar(a, b)").unwrap();
        assert_eq!((old, new), (vec!["foo".into()], vec!["bar".into()]));
    }

    #[test]
    fn characters_stay_whole() {
        let (old, new) = marked("grüße = eins + zwei", "grüßen = eins + zwei").unwrap();
        assert_eq!((old, new), (vec!["grüße".into()], vec!["grüßen".into()]));
    }

    #[test]
    fn two_other_lines_are_no_pair() {
        assert_eq!(marked("import numpy as np", "def flush(self):"), None);
        assert_eq!(word_diff(&[b'a'; MAX_LINE + 1], b"a"), None);
        assert_eq!(marked("", "").unwrap(), (vec![], vec![]));
    }
}
