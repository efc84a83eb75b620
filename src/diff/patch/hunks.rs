//! Hunks: `@@ -a,b +c,d @@` and the lines that it announces.

use std::ops::Range;

use super::parse::Cursor;
use super::types::{Hunk, HunkLine, LineKind, Problem};

/// Reads hunks until something else stands there.
pub(super) fn read_hunks(cursor: &mut Cursor<'_>, problems: &mut Vec<Problem>) -> Vec<Hunk> {
    let mut hunks = Vec::new();
    while cursor.peek().is_some_and(|l| l.starts_with(b"@@ -")) {
        let line = cursor.line;
        match read_hunk(cursor) {
            Ok(hunk) => hunks.push(hunk),
            Err((line, message)) => problems.push(Problem { line, message }),
        }
        if cursor.line == line {
            cursor.advance();
        }
    }
    // `git apply` skips what follows as prose; lines that are meant as part of a hunk whose
    // header counts too few would be lost without a word
    if !hunks.is_empty()
        && let Some(text) = cursor.peek_text()
        && (text.starts_with(b"+")
            || (text.starts_with(b"-")
                && !text.starts_with(b"-- ")
                && text != b"--"
                && !super::header::is_plain(cursor)))
    {
        problems.push(Problem {
            line: cursor.line,
            message: "the hunk has more lines than its header announces".into(),
        });
    }
    hunks
}

fn read_hunk(cursor: &mut Cursor<'_>) -> Result<Hunk, (usize, String)> {
    let line = cursor.line;
    let text = cursor.peek_text().unwrap_or_default();
    let Some((old, new, section)) = read_range_line(text) else {
        return Err((line, "a damaged hunk header".into()));
    };
    let section = cursor.at + section.start..cursor.at + section.end;
    cursor.advance();
    let mut hunk = Hunk {
        line,
        old_start: old.0,
        old_count: old.1,
        new_start: new.0,
        new_count: new.1,
        section,
        // counts are the author's word: memory follows the lines that are there
        lines: Vec::with_capacity((old.1.saturating_add(new.1)).min(4096)),
    };
    let (mut old_left, mut new_left) = (old.1, new.1);
    while old_left > 0 || new_left > 0 {
        let Some(raw) = cursor.peek() else {
            return Err((
                cursor.line,
                format!("the patch ends inside the hunk of line {line}"),
            ));
        };
        if !raw.ends_with(b"\n") {
            return Err((cursor.line, "the patch ends inside a line".into()));
        }
        let (kind, text_at) = match raw[0] {
            b' ' => (LineKind::Context, 1),
            // some programs cut the space of an empty context line
            b'\n' => (LineKind::Context, 0),
            b'-' => (LineKind::Removed, 1),
            b'+' => (LineKind::Added, 1),
            b'\\' => {
                mark_no_newline(&mut hunk);
                cursor.advance();
                continue;
            }
            _ => {
                return Err((
                    cursor.line,
                    format!(
                        "a damaged hunk (it begins in line {line}, its header announces more lines)"
                    ),
                ));
            }
        };
        let short = match kind {
            LineKind::Context => old_left == 0 || new_left == 0,
            LineKind::Removed => old_left == 0,
            LineKind::Added => new_left == 0,
        };
        if short {
            return Err((
                cursor.line,
                format!(
                    "a damaged hunk (it begins in line {line}, its header announces fewer such lines)"
                ),
            ));
        }
        if kind != LineKind::Added {
            old_left -= 1;
        }
        if kind != LineKind::Removed {
            new_left -= 1;
        }
        // parse() has refused inputs whose offsets do not fit
        hunk.lines.push(HunkLine {
            kind,
            no_newline: false,
            start: (cursor.at + text_at) as u32,
            end: (cursor.at + raw.len()) as u32,
        });
        cursor.advance();
    }
    if cursor.peek().is_some_and(|l| l.starts_with(b"\\ ")) {
        mark_no_newline(&mut hunk);
        cursor.advance();
    }
    Ok(hunk)
}

fn mark_no_newline(hunk: &mut Hunk) {
    if let Some(last) = hunk.lines.last_mut()
        && !last.no_newline
    {
        last.no_newline = true;
        last.end -= 1;
    }
}

type Start = (usize, usize);

/// The two ranges of a hunk header, and where its section text stands in the line.
pub(super) fn read_range_line(text: &[u8]) -> Option<(Start, Start, Range<usize>)> {
    let rest = text.strip_prefix(b"@@ -")?;
    let (old, rest) = read_range(rest)?;
    let rest = rest.strip_prefix(b" +")?;
    let (new, rest) = read_range(rest)?;
    let rest = rest.strip_prefix(b" @@")?;
    let section = rest.strip_prefix(b" ").unwrap_or(rest);
    Some((old, new, text.len() - section.len()..text.len()))
}

fn read_range(text: &[u8]) -> Option<(Start, &[u8])> {
    let (start, rest) = number(text)?;
    match rest.strip_prefix(b",") {
        Some(rest) => {
            let (count, rest) = number(rest)?;
            Some(((start, count), rest))
        }
        None => Some(((start, 1), rest)),
    }
}

fn number(text: &[u8]) -> Option<(usize, &[u8])> {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let value = std::str::from_utf8(&text[..digits])
        .ok()?
        .parse::<u32>()
        .ok()?;
    Some((value as usize, &text[digits..]))
}
