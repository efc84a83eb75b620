//! Two texts line by line.
//!
//! A [`FileDiff`] holds spans and changes, no text: the owner of the bytes shows them. 20,000
//! lines take milliseconds, so it is computed whole, once, in a job.

use std::hash::{Hash, Hasher};
use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput, TokenSource};

use super::notice::{Notice, notices};
use super::pairs::{Pair, align};

/// Above this many lines on a side Myers takes over: Histogram is slower by 40 times there.
const HISTOGRAM_LINES: usize = 5_000;

/// What counts as a difference, and how much is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiffOptions {
    /// CRLF and LF are the same, and a missing final newline is none.
    pub ignore_line_endings: bool,
    /// White space does not count at all.
    pub ignore_space: bool,
    /// Larger files get a notice instead of rows; the user may ask for them all the same.
    pub max_bytes: usize,
}

impl Default for DiffOptions {
    fn default() -> Self {
        Self {
            ignore_line_endings: false,
            ignore_space: false,
            max_bytes: 16 << 20,
        }
    }
}

/// One line: its 1-based number and its bytes without the line's end (LF or CRLF).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub no: u32,
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn text<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        bytes
            .get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }
}

/// Lines that differ: indices into the spans of either side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeRange {
    pub old: Range<u32>,
    pub new: Range<u32>,
    /// Rows side by side, in [`FileDiff::pairs`]; empty: the lines pair in their order.
    pub(super) pairs: Range<u32>,
}

/// Where a hunk of a patch begins: what lies before it is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    pub old: u32,
    pub new: u32,
    /// The text behind the hunk's numbers, in the patch.
    pub section: Range<u32>,
}

/// The difference of two versions of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileDiff {
    pub old: Vec<Span>,
    pub new: Vec<Span>,
    pub changes: Vec<ChangeRange>,
    /// Of a patch only; empty where both texts are known.
    pub breaks: Vec<Break>,
    pub notices: Vec<Notice>,
    pub added: usize,
    pub removed: usize,
    pub(super) pairs: Vec<Pair>,
}

impl FileDiff {
    /// Compares two versions; `None`: the file does not exist there.
    pub fn new(old: Option<&[u8]>, new: Option<&[u8]>, options: DiffOptions) -> Self {
        let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
        let mut diff = Self {
            notices: notices(old, new, options),
            ..Self::default()
        };
        if diff.notices.iter().any(Notice::hides_rows) {
            return diff;
        }
        diff.old = spans(old);
        diff.new = spans(new);
        let input = InternedInput::new(Lines { text: old, options }, Lines { text: new, options });
        diff.find_changes(&input, (old, new));
        diff
    }

    /// Compares the lines of `input`, which are those of the spans.
    pub(super) fn find_changes(&mut self, input: &InternedInput<Line<'_>>, texts: (&[u8], &[u8])) {
        let algorithm = if self.old.len().max(self.new.len()) > HISTOGRAM_LINES {
            Algorithm::Myers
        } else {
            Algorithm::Histogram
        };
        let mut found = Diff::compute(algorithm, input);
        found.postprocess_lines(input);
        for hunk in found.hunks() {
            self.push_change(hunk.before, hunk.after, texts);
        }
    }

    /// Appends a change. `texts`: the bytes that the spans of either side are in.
    pub(super) fn push_change(&mut self, old: Range<u32>, new: Range<u32>, texts: (&[u8], &[u8])) {
        self.removed += old.len();
        self.added += new.len();
        let index = |r: &Range<u32>| r.start as usize..r.end as usize;
        let first = self.pairs.len() as u32;
        let aligned = align(
            &self.old[index(&old)],
            &self.new[index(&new)],
            texts,
            (old.start, new.start),
        );
        self.pairs.extend(aligned.unwrap_or_default());
        self.changes.push(ChangeRange {
            old,
            new,
            pairs: first..self.pairs.len() as u32,
        });
    }

    /// Rows that a change has side by side.
    pub(super) fn pair_count(&self, change: usize) -> usize {
        let change = &self.changes[change];
        if change.pairs.is_empty() {
            change.old.len().max(change.new.len())
        } else {
            change.pairs.len()
        }
    }

    pub(super) fn pair(&self, change: usize, row: usize) -> Pair {
        let change = &self.changes[change];
        if !change.pairs.is_empty() {
            return self.pairs[change.pairs.start as usize + row];
        }
        let nth = |range: &Range<u32>| (row < range.len()).then(|| range.start + row as u32);
        (nth(&change.old), nth(&change.new))
    }

    /// The rows that differ by nothing but what the options ignore do not count.
    pub fn is_same(&self) -> bool {
        self.changes.is_empty() && !self.notices.iter().any(Notice::hides_rows)
    }
}

/// The lines of a text, without their ends.
pub(super) fn spans(text: &[u8]) -> Vec<Span> {
    let mut spans = Vec::with_capacity(text.len() / 32);
    let (mut start, mut no) = (0, 1);
    for at in memchr::memchr_iter(b'\n', text).chain(
        // a last line without a newline
        (!text.is_empty() && !text.ends_with(b"\n")).then_some(text.len()),
    ) {
        let end = if at > start && text[at - 1] == b'\r' && at < text.len() {
            at - 1
        } else {
            at
        };
        // texts are bounded by `max_bytes` before
        spans.push(Span {
            no,
            start: start as u32,
            end: end as u32,
        });
        start = at + 1;
        no += 1;
    }
    spans
}

/// A line as it is compared.
#[derive(Clone, Copy, Default)]
pub(super) struct Line<'a> {
    pub text: &'a [u8],
    pub spaceless: bool,
}

impl Line<'_> {
    fn words(&self) -> impl Iterator<Item = u8> {
        self.text
            .iter()
            .copied()
            .filter(|b| !b.is_ascii_whitespace())
    }
}

impl PartialEq for Line<'_> {
    fn eq(&self, other: &Self) -> bool {
        if self.spaceless {
            self.words().eq(other.words())
        } else {
            self.text == other.text
        }
    }
}

impl Eq for Line<'_> {}

impl Hash for Line<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if self.spaceless {
            for byte in self.words() {
                state.write_u8(byte);
            }
        } else {
            self.text.hash(state);
        }
    }
}

impl AsRef<[u8]> for Line<'_> {
    fn as_ref(&self) -> &[u8] {
        self.text
    }
}

/// The lines of a text for the comparison, cut as the options say.
#[derive(Clone, Copy)]
struct Lines<'a> {
    text: &'a [u8],
    options: DiffOptions,
}

/// The iterator over [`Lines`].
struct Cut<'a>(Lines<'a>);

impl<'a> Iterator for Cut<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let Lines { text, options } = self.0;
        if text.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', text).map_or(text.len(), |at| at + 1);
        let (mut line, rest) = text.split_at(end);
        self.0.text = rest;
        if options.ignore_line_endings {
            line = line.strip_suffix(b"\n").unwrap_or(line);
            line = line.strip_suffix(b"\r").unwrap_or(line);
        }
        Some(Line {
            text: line,
            spaceless: options.ignore_space,
        })
    }
}

impl<'a> TokenSource for Lines<'a> {
    type Token = Line<'a>;
    type Tokenizer = Cut<'a>;

    fn tokenize(&self) -> Cut<'a> {
        Cut(*self)
    }

    fn estimate_tokens(&self) -> u32 {
        u32::try_from(self.text.len() / 32).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(old: &str, new: &str, options: DiffOptions) -> Vec<(Range<u32>, Range<u32>)> {
        FileDiff::new(Some(old.as_bytes()), Some(new.as_bytes()), options)
            .changes
            .into_iter()
            .map(|c| (c.old, c.new))
            .collect()
    }

    #[test]
    fn changes_are_line_indices() {
        let options = DiffOptions::default();
        assert_eq!(diff("a\nb\nc\n", "a\nX\nY\nc\n", options), [(1..2, 1..3)]);
        assert_eq!(diff("", "a\n", options), [(0..0, 0..1)]);
        assert_eq!(diff("a\n", "a", options), [(0..1, 0..1)]);
        assert_eq!(diff("a\n", "a\n", options), []);
    }

    #[test]
    fn what_is_ignored_is_no_change() {
        let endings = DiffOptions {
            ignore_line_endings: true,
            ..DiffOptions::default()
        };
        assert_eq!(diff("a\nb\nc", "a\r\nX\r\nc\r\n", endings), [(1..2, 1..2)]);
        assert_eq!(
            diff("a\nb\n", "a\r\nb\r\n", DiffOptions::default()),
            [(0..2, 0..2)]
        );
        let space = DiffOptions {
            ignore_space: true,
            ..DiffOptions::default()
        };
        assert_eq!(diff("if a:\n  b\n", "if  a :\r\n\tb", space), []);
        assert_eq!(diff("ab\n", "ac\n", space), [(0..1, 0..1)]);
    }

    #[test]
    fn spans_end_before_the_line_does() {
        let text = b"a\r\n\nlast\r";
        let spans = spans(text);
        let texts: Vec<&[u8]> = spans.iter().map(|s| s.text(text)).collect();
        assert_eq!(texts, [&b"a"[..], b"", b"last\r"]);
        assert_eq!(spans[2].no, 3);
    }

    #[test]
    fn large_texts_take_the_fast_way_and_the_same_answer() {
        let mut old = String::new();
        for n in 0..8000 {
            use std::fmt::Write;
            let _ = writeln!(old, "line {n}");
        }
        let new = old.replace("line 77\n", "x\n").replace("line 7999\n", "");
        assert_eq!(
            diff(&old, &new, DiffOptions::default()),
            [(77..78, 77..78), (7999..8000, 7999..7999)]
        );
    }
}
