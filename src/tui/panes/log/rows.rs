//! Entries as rows: a row is a small value until it is drawn.

use std::sync::Arc;

use crate::agent::trace::{Entry, Kind, Progress, Role};
use crate::tui::text;

use super::long::{LONG, LongLines};
use super::parts::{Block, Parts, Sort};

/// Lines of output shown of a folded entry: the end tells most.
const TAIL: usize = 2;
/// Folded output up to this many lines is shown whole.
const SHORT: usize = 4;
/// Lines of an edit that are shown while it is folded.
const SMALL: usize = 8;
/// Lines of one unfolded entry.
const MOST: usize = 5_000;
/// Rows of one entry: what a line of many megabytes is wrapped to.
const MOST_ROWS: usize = 200_000;

/// How entries are laid out.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub width: usize,
    /// Lines of output are wrapped instead of cut.
    pub wrap: bool,
    pub long: &'a LongLines,
}

/// One row of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    /// Number of the line that it is of, as [`Parts::lines`] counts.
    pub line: usize,
    /// Which row of that line; of one that is not wrapped, the first.
    pub piece: usize,
    pub what: What<'a>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What<'a> {
    /// The entry's first line; the drawer knows the kind.
    Head,
    /// Prose, wrapped at words and safe.
    Prose(String),
    /// A line as it is in the log, raw; its piece begins at so many columns.
    Line(Sort, &'a str),
    /// So many lines are folded away.
    Folded(usize),
}

struct Rows<'a, 'v> {
    view: View<'v>,
    entry: usize,
    out: Vec<Row<'a>>,
}

impl<'a> Rows<'a, '_> {
    fn push(&mut self, line: usize, piece: usize, what: What<'a>) {
        self.out.push(Row { line, piece, what });
    }

    fn full(&self) -> bool {
        self.out.len() >= MOST_ROWS
    }

    /// A line of a program, or of prose that is too long for words.
    fn line(&mut self, line: usize, sort: Sort, raw: &'a str) {
        let prose = sort == Sort::Prose;
        if !self.view.wrap && !prose {
            return self.push(line, 0, What::Line(sort, raw));
        }
        let columns = if raw.len() >= LONG {
            self.view.long.get(self.entry, line, raw).columns()
        } else {
            super::line::columns(raw)
        };
        let room = line_width(sort, self.view.width);
        for piece in 0..columns.div_ceil(room).max(1) {
            if self.full() {
                break;
            }
            self.push(line, piece, What::Line(sort, raw));
        }
    }

    /// Words, at most so many rows of them.
    fn prose(&mut self, first: usize, body: &'a str, most: usize) {
        let start = self.out.len();
        let mut count = 0;
        for raw in body.lines() {
            let rows = self.out.len() - start;
            if rows > most {
                break;
            }
            if raw.len() >= LONG {
                self.line(first + count, Sort::Prose, raw);
            } else {
                let wrapped = text::wrap(raw, self.view.width, most + 1 - rows);
                for (piece, row) in wrapped.into_iter().enumerate() {
                    self.push(first + count, piece, What::Prose(row));
                }
            }
            count += 1;
        }
        if self.out.len() == start {
            self.push(first, 0, What::Prose(String::new()));
        }
        if self.out.len() - start > most {
            self.out.truncate(start + most);
            let shown = self.out.last().map_or(0, |row| row.line + 1 - first);
            let rest = body.lines().count().saturating_sub(shown).max(1);
            self.push(first + count, 0, What::Folded(rest));
        }
    }

    /// Lines of which only the end is shown while they are folded.
    fn fold(&mut self, first: usize, sort: Sort, body: &'a str, unfolded: bool, tail: usize) {
        let count = lines(body);
        if unfolded || (tail > 0 && count <= SHORT) {
            return self.start(first, sort, body, count, MOST);
        }
        if count > tail {
            self.push(first, 0, What::Folded(count - tail));
        }
        let from = count.saturating_sub(tail);
        for (at, raw) in body.lines().enumerate().skip(from) {
            self.line(first + at, sort, raw);
        }
    }

    /// The first `most` lines, and how many there are beside.
    fn start(&mut self, first: usize, sort: Sort, body: &'a str, count: usize, most: usize) {
        for (at, raw) in body.lines().enumerate().take(most) {
            if self.full() {
                break;
            }
            self.line(first + at, sort, raw);
        }
        if count > most {
            self.push(first + most, 0, What::Folded(count - most));
        }
    }
}

/// Columns that a line has of an entry's width.
pub fn line_width(sort: Sort, width: usize) -> usize {
    let indent = if sort == Sort::Prose { 0 } else { 2 };
    width.saturating_sub(indent).max(1)
}

fn lines(body: &str) -> usize {
    let ends = memchr::memchr_iter(b'\n', body.as_bytes()).count();
    ends + usize::from(!body.is_empty() && !body.ends_with('\n'))
}

/// All rows of the entry at an index.
pub fn rows<'a>(entry: &'a Entry, at: usize, view: View<'_>, unfolded: bool) -> Vec<Row<'a>> {
    let mut rows = Rows {
        view,
        entry: at,
        out: Vec::new(),
    };
    let failed = matches!(
        &entry.kind,
        Kind::Command { progress, .. } | Kind::Tool { progress, .. } | Kind::Edit { progress, .. }
            if *progress == Progress::Failed
    );
    let most = match &entry.kind {
        // a prompt is long and the same every time: its beginning will do
        Kind::Message { role, .. } if *role != Role::Agent => 3,
        Kind::Message { .. } => 400,
        Kind::Reasoning { .. } => 3,
        _ => 50,
    };
    let most = if unfolded { MOST } else { most };
    let mut first = 0;
    let parts = Parts::of(entry);
    if parts.head.is_some() {
        rows.push(0, 0, What::Head);
        first = 1;
    }
    for Block { sort, text: body } in parts.blocks {
        match sort {
            Sort::Head => {}
            Sort::Prose => rows.prose(first, body, most),
            Sort::Input if !unfolded => {}
            Sort::Input => rows.start(first, sort, body, lines(body), MOST),
            Sort::Change => {
                let most = if unfolded { MOST } else { SMALL };
                rows.start(first, sort, body, lines(body), most);
            }
            Sort::Output => {
                let tail = match &entry.kind {
                    // a line of plain text, whole
                    Kind::Raw { .. } => usize::MAX,
                    _ if failed => 4,
                    Kind::Command { .. } => TAIL,
                    _ => 0,
                };
                rows.fold(first, sort, body, unfolded, tail);
            }
        }
        first += lines(body);
    }
    if rows.out.is_empty() {
        rows.push(0, 0, What::Prose(String::new()));
    }
    rows.out
}

/// Columns left of an entry: the time where the log tells times, and the cursor's mark.
pub fn gutter(entries: &[Arc<Entry>]) -> usize {
    if entries.iter().take(64).any(|entry| entry.at_s.is_some()) {
        11
    } else {
        2
    }
}

/// Columns of an entry's rows in a pane of `width` inner columns.
pub fn text_width(entries: &[Arc<Entry>], width: usize) -> usize {
    // one column stays free for a wide character that does not fit
    width.saturating_sub(gutter(entries) + 1).max(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(output: &str, progress: Progress) -> Entry {
        let kind = Kind::Command {
            command: "x\ny".into(),
            output: output.into(),
            exit: None,
            progress,
            duration_s: None,
        };
        Entry::new(None, kind)
    }

    fn shown(entry: &Entry, wrap: bool, unfolded: bool) -> Vec<(usize, usize, String)> {
        let long = LongLines::default();
        let view = View {
            width: 10,
            wrap,
            long: &long,
        };
        let rows = rows(entry, 0, view, unfolded);
        let words = |what: What<'_>| match what {
            What::Head => "head".into(),
            What::Prose(text) => text,
            What::Line(_, raw) => raw.to_owned(),
            What::Folded(count) => format!("+{count}"),
        };
        rows.into_iter()
            .map(|row| (row.line, row.piece, words(row.what)))
            .collect()
    }

    fn texts(rows: &[(usize, usize, String)]) -> Vec<&str> {
        rows.iter().map(|(.., text)| text.as_str()).collect()
    }

    #[test]
    fn folded_output_keeps_its_end_and_its_line_numbers() {
        let entry = command("a\nb\nc\nd\ne\n", Progress::Done);
        let rows = shown(&entry, false, false);
        assert_eq!(texts(&rows), ["head", "+3", "d", "e"]);
        assert_eq!(rows.last().map(|row| row.0), Some(6));
        let rows = shown(&entry, false, true);
        assert_eq!(texts(&rows), ["head", "y", "a", "b", "c", "d", "e"]);
        assert_eq!(rows.last().map(|row| row.0), Some(6));
        let entry = command("a\nb\n", Progress::Done);
        assert_eq!(texts(&shown(&entry, false, false)), ["head", "a", "b"]);
    }

    #[test]
    fn a_long_line_is_one_row_or_is_wrapped_to_all_of_it() {
        let entry = command("0123456789abcdefg", Progress::Done);
        assert_eq!(shown(&entry, false, false).len(), 2);
        let rows = shown(&entry, true, false);
        let pieces: Vec<usize> = rows.iter().skip(1).map(|row| row.1).collect();
        assert_eq!(pieces, [0, 1, 2]);
        let megabytes = command(&"x".repeat(5 << 20), Progress::Done);
        let long = LongLines::default();
        let count = |wrap| {
            let view = View {
                width: 10,
                wrap,
                long: &long,
            };
            super::rows(&megabytes, 0, view, false).len()
        };
        assert_eq!([count(false), count(true)], [2, MOST_ROWS]);
    }

    #[test]
    fn prose_of_one_endless_word_ends() {
        let kind = Kind::Message {
            role: Role::User,
            text: "x".repeat(5 << 20),
        };
        let rows = shown(&Entry::new(None, kind), false, false);
        assert_eq!(rows.len(), 4);
        assert_eq!(rows.last().map(|row| row.2.as_str()), Some("+1"));
    }

    #[test]
    fn an_edit_shows_its_first_lines() {
        let detail = (0..20)
            .map(|n| format!("+{n}"))
            .collect::<Vec<_>>()
            .join("\n");
        let kind = Kind::Edit {
            files: Vec::new(),
            detail,
            progress: Progress::Done,
        };
        let rows = shown(&Entry::new(None, kind), false, false);
        assert_eq!(rows.len(), 1 + SMALL + 1);
        assert_eq!(rows.last().map(|row| row.2.as_str()), Some("+12"));
    }
}
