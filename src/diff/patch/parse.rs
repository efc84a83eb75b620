//! The walk over a patch: prose, headers, bodies.

use super::hunks::read_hunks;
use super::types::{BinaryHunk, BinaryKind, BinaryPatch, Body, Change, FilePatch, Patch, Problem};
use super::{base85, header};

/// Lines of the input with their numbers.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    pub(super) bytes: &'a [u8],
    /// Where the next line begins.
    pub(super) at: usize,
    /// Its 1-based number.
    pub(super) line: usize,
}

impl<'a> Cursor<'a> {
    /// The next line with its newline.
    pub(super) fn peek(&self) -> Option<&'a [u8]> {
        let rest = self.bytes.get(self.at..).filter(|r| !r.is_empty())?;
        Some(match memchr::memchr(b'\n', rest) {
            Some(end) => &rest[..=end],
            None => rest,
        })
    }

    /// The next line without its end, LF or CRLF: headers may have been through mail.
    pub(super) fn peek_text(&self) -> Option<&'a [u8]> {
        self.peek().map(trim_end)
    }

    pub(super) fn advance(&mut self) {
        if let Some(line) = self.peek() {
            self.at += line.len();
            self.line += 1;
        }
    }
}

pub(super) fn trim_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Reads a patch. Prose before, between and behind files is skipped, as `git apply` does.
pub fn parse(bytes: &[u8]) -> Patch {
    let mut patch = Patch::default();
    if u32::try_from(bytes.len()).is_err() {
        patch.problems.push(Problem {
            line: 1,
            message: "the patch is larger than 4 GiB".into(),
        });
        return patch;
    }
    let mut cursor = Cursor {
        bytes,
        at: 0,
        line: 1,
    };
    while let Some(text) = cursor.peek_text() {
        let (start, line) = (cursor.at, cursor.line);
        let read = if text.starts_with(b"diff --git ") {
            header::read_git(&mut cursor, &mut patch.problems)
        } else if header::is_plain(&cursor) {
            header::read_plain(&mut cursor, &mut patch.problems)
        } else {
            note_stray(text, line, &mut patch.problems);
            cursor.advance();
            None
        };
        if let Some(mut file) = read {
            read_body(&mut cursor, &mut file, &mut patch.problems);
            file.range = start..cursor.at;
            patch.files.push(file);
        }
    }
    patch
}

/// A hunk without a header is no prose: applying the rest would be applying half.
fn note_stray(text: &[u8], line: usize, problems: &mut Vec<Problem>) {
    let message = if text.starts_with(b"@@@ -") {
        "a combined diff (of a merge) cannot be applied; make it against one parent"
    } else if text.starts_with(b"@@ -") && super::hunks::read_range_line(text).is_some() {
        "a hunk without a file header before it"
    } else {
        return;
    };
    problems.push(Problem {
        line,
        message: message.into(),
    });
}

fn read_body(cursor: &mut Cursor<'_>, file: &mut FilePatch, problems: &mut Vec<Problem>) {
    let Some(text) = cursor.peek_text() else {
        return;
    };
    if text.starts_with(b"@@ -") {
        let hunks = read_hunks(cursor, problems);
        if !hunks.is_empty() {
            file.body = Body::Hunks(hunks);
        }
    } else if text == b"GIT binary patch" {
        cursor.advance();
        match read_binary(cursor, problems) {
            Some(forward) => {
                // the way back, if it is there; it is never taken
                if is_binary_start(cursor) {
                    read_binary(cursor, problems);
                }
                file.body = Body::Binary(BinaryPatch { forward });
            }
            None => file.body = Body::BinaryWithoutData,
        }
    } else if (text.starts_with(b"Binary files ") || text.starts_with(b"Files "))
        && text.ends_with(b" differ")
    {
        cursor.advance();
        file.body = Body::BinaryWithoutData;
    }
    if let Body::Hunks(hunks) = &file.body {
        let line = file.line;
        let (old, new) = hunks
            .iter()
            .fold((0, 0), |(o, n), h| (o + h.old_count, n + h.new_count));
        let name = super::show(file.path());
        if file.change == Change::Add && old > 0 {
            problems.push(Problem {
                line,
                message: format!("{name} is said to be new, but its hunk has old lines"),
            });
        } else if file.change == Change::Delete && new > 0 {
            problems.push(Problem {
                line,
                message: format!("{name} is said to be deleted, but its hunk keeps lines"),
            });
        }
    }
}

fn is_binary_start(cursor: &Cursor<'_>) -> bool {
    cursor
        .peek_text()
        .is_some_and(|t| t.starts_with(b"literal ") || t.starts_with(b"delta "))
}

/// `literal N` or `delta N`, base 85 lines, an empty line.
fn read_binary(cursor: &mut Cursor<'_>, problems: &mut Vec<Problem>) -> Option<BinaryHunk> {
    let line = cursor.line;
    let mut damaged = |line: usize| {
        problems.push(Problem {
            line,
            message: "a damaged binary patch".into(),
        });
        None
    };
    let Some(text) = cursor.peek_text() else {
        return damaged(line);
    };
    let (kind, size) = if let Some(size) = text.strip_prefix(b"literal ") {
        (BinaryKind::Literal, size)
    } else if let Some(size) = text.strip_prefix(b"delta ") {
        (BinaryKind::Delta, size)
    } else {
        return damaged(line);
    };
    let Some(size) = std::str::from_utf8(size).ok().and_then(|s| s.parse().ok()) else {
        return damaged(line);
    };
    cursor.advance();
    let mut deflated = Vec::new();
    while let Some(text) = cursor.peek_text() {
        if text.is_empty() {
            cursor.advance();
            break;
        }
        if base85::decode_line(text, &mut deflated).is_none() {
            return damaged(cursor.line);
        }
        cursor.advance();
    }
    Some(BinaryHunk {
        line,
        kind,
        size,
        deflated,
    })
}
