//! Hunks into a text: where they match, and what comes out.

use crate::diff::patch::{Hunk, LineKind};

/// Comparisons of lines after which a search gives up; a patch of 50 MB that matches takes 10^6.
const MAX_COMPARISONS: u64 = 500_000_000;

/// Why a hunk did not go in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    /// 1-based, among the file's hunks.
    pub(super) hunk: usize,
    /// 1-based line of the patch.
    pub(super) line: usize,
    pub(super) message: String,
}

/// One line of the text as it is so far.
#[derive(Clone, Copy)]
struct Line<'a> {
    text: &'a [u8],
    /// It came from a hunk: no later hunk may match it.
    patched: bool,
}

/// Lines before `rest` are settled as far as hunks in their order go; a hunk out of order still
/// finds its place in them.
struct Image<'a> {
    done: Vec<Line<'a>>,
    rest: &'a [&'a [u8]],
}

impl<'a> Image<'a> {
    fn len(&self) -> usize {
        self.done.len() + self.rest.len()
    }

    /// The line at `at`, where a hunk may match it.
    fn free(&self, at: usize) -> Option<&'a [u8]> {
        match self.done.get(at) {
            Some(line) => (!line.patched).then_some(line.text),
            None => self.rest.get(at - self.done.len()).copied(),
        }
    }

    fn replace(&mut self, at: usize, count: usize, by: &[&'a [u8]]) {
        let lines = by.iter().map(|&text| Line {
            text,
            patched: true,
        });
        if at >= self.done.len() {
            let (before, after) = self.rest.split_at(at - self.done.len());
            self.done.extend(before.iter().map(|&text| Line {
                text,
                patched: false,
            }));
            self.done.extend(lines);
            self.rest = &after[count..];
            return;
        }
        let end = at + count;
        if end > self.done.len() {
            let take = end - self.done.len();
            self.rest = &self.rest[take..];
            self.done.truncate(at);
            self.done.extend(lines);
        } else {
            self.done.splice(at..end, lines);
        }
    }
}

/// The text with all hunks in, and whether one of them stood at another line than it says.
pub(super) fn apply_hunks(
    old: &[u8],
    hunks: &[Hunk],
    patch: &[u8],
) -> Result<(Vec<u8>, bool), Mismatch> {
    let lines: Vec<&[u8]> = split_lines(old).collect();
    let mut image = Image {
        done: Vec::with_capacity(lines.len()),
        rest: &lines,
    };
    let mut moved = false;
    let mut budget = MAX_COMPARISONS;
    for (number, hunk) in hunks.iter().enumerate() {
        let side = |skip: LineKind| -> Vec<&[u8]> {
            hunk.lines
                .iter()
                .filter(|l| l.kind != skip)
                .map(|l| l.text(patch))
                .collect()
        };
        let (before, after) = (side(LineKind::Added), side(LineKind::Removed));
        let found = position(&image, hunk, &before, &mut budget);
        let Some(at) = found else {
            return Err(mismatch(&image, hunk, number + 1, &before));
        };
        moved |= at != expected(hunk).min(image.len());
        image.replace(at, before.len(), &after);
    }
    let mut out = Vec::with_capacity(old.len());
    for line in &image.done {
        out.extend_from_slice(line.text);
    }
    for line in image.rest {
        out.extend_from_slice(line);
    }
    Ok((out, moved))
}

pub(super) fn split_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        let (line, after) = rest.split_at(end);
        rest = after;
        Some(line)
    })
}

/// Where the hunk says that it stands, in the text as it is after the hunks before it.
fn expected(hunk: &Hunk) -> usize {
    // "+n,0" counts the line before; an empty old side ("-0,0") is the beginning
    if hunk.new_count == 0 {
        hunk.new_start
    } else {
        hunk.new_start.saturating_sub(1)
    }
}

/// The rules of `git apply`: a hunk of the file's first line, or without context before the
/// change where it says line 0 or 1, matches at the beginning only; one without context behind
/// the change at the end only; all other hunks at the nearest match, later lines first.
fn position(image: &Image<'_>, hunk: &Hunk, before: &[&[u8]], budget: &mut u64) -> Option<usize> {
    let last = image.len().checked_sub(before.len())?;
    let trailing = hunk
        .lines
        .iter()
        .rev()
        .take_while(|l| l.kind == LineKind::Context)
        .count();
    let at_start = hunk.old_start <= 1;
    let at_end = trailing == 0;
    let mut fits = |at: usize| -> bool {
        if at_start && at != 0 || at_end && at != last {
            return false;
        }
        for (offset, line) in before.iter().enumerate() {
            if *budget == 0 {
                return false;
            }
            *budget -= 1;
            let Some(there) = image.free(at + offset) else {
                return false;
            };
            let last_of_hunk = offset + 1 == before.len();
            if there != *line && !(last_of_hunk && !at_end && begins(there, line)) {
                return false;
            }
        }
        true
    };
    if at_start {
        return fits(0).then_some(0);
    }
    if at_end {
        return fits(last).then_some(last);
    }
    let start = hunk.new_start.saturating_sub(1).min(last);
    if fits(start) {
        return Some(start);
    }
    for distance in 1..=image.len() {
        if start + distance <= last && fits(start + distance) {
            return Some(start + distance);
        }
        if distance <= start && fits(start - distance) {
            return Some(start - distance);
        }
        if distance > start && start + distance > last {
            break;
        }
    }
    None
}

/// git compares a hunk's bytes with the text's from its place on, so a last line of context without
/// its newline also matches one that goes on, in white space alone.
fn begins(there: &[u8], line: &[u8]) -> bool {
    !line.ends_with(b"\n")
        && there
            .strip_prefix(line)
            .is_some_and(|rest| rest.iter().all(|b| b" \t\r\n".contains(b)))
}

fn mismatch(image: &Image<'_>, hunk: &Hunk, number: usize, before: &[&[u8]]) -> Mismatch {
    let at = expected(hunk);
    // the first of its lines that base does not have there; where that says nothing, its header
    let wrong = before.iter().enumerate().find(|(offset, line)| {
        at + offset >= image.len() || image.free(at + offset) != Some(**line)
    });
    let mut line = hunk.line;
    let mut message = format!(
        "hunk {number} (line {} of the file) does not match base",
        hunk.old_start
    );
    if let Some((offset, text)) = wrong {
        let mut old = hunk
            .lines
            .iter()
            .enumerate()
            .filter(|(_, l)| l.kind != LineKind::Added);
        if let Some((index, _)) = old.nth(offset) {
            // `\ No newline` lines are not counted: the last line of a hunk at most
            line = hunk.line + 1 + index;
        }
        let there = image
            .free(at + offset)
            .filter(|_| at + offset < image.len());
        if there.is_some_and(|t| t.trim_ascii_end() == text.trim_ascii_end()) {
            message.push_str(" (only the end of the line differs: CRLF, or a missing newline)");
        }
    } else if before.is_empty() {
        message.push_str(" (it has no context, and the file does not end there)");
    }
    Mismatch {
        hunk: number,
        line,
        message,
    }
}
