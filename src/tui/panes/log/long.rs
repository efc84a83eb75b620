//! Lines of megabytes: made safe once, then any part of them is found by its column.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthChar;

use crate::tui::{ansi, text};

pub use crate::tui::ansi::LONG;
/// Bytes between places whose column is known.
const BLOCK: usize = 4096;
/// Lines and bytes that are kept made safe.
const KEPT: usize = 64;
const KEPT_BYTES: usize = 32 << 20;

/// A long line as it is seen.
#[derive(Debug)]
pub struct LongLine {
    text: String,
    /// Byte and column of each block's first character.
    blocks: Vec<(usize, usize)>,
    columns: usize,
}

impl LongLine {
    pub fn new(raw: &str) -> Self {
        let text = ansi::flat(raw);
        let mut blocks = vec![(0, 0)];
        let (mut next, mut column, mut at) = (BLOCK, 0, 0);
        let bytes = text.as_bytes();
        while at < bytes.len() {
            // plain letters are a column each: most of what is so long is one word of them
            let plain = bytes
                .get(at..next.min(bytes.len()))
                .unwrap_or_default()
                .iter()
                .position(|b| !b.is_ascii())
                .unwrap_or_else(|| next.min(bytes.len()).saturating_sub(at));
            at += plain;
            column += plain;
            let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) else {
                break;
            };
            let wide = c.width().unwrap_or(0);
            // a mark belongs to what stands before it
            if at >= next && wide > 0 {
                blocks.push((at, column));
                next = at + BLOCK;
                continue;
            }
            at += c.len_utf8();
            column += wide;
            next = next.max(at);
        }
        Self {
            text,
            blocks,
            columns: column,
        }
    }

    pub fn columns(&self) -> usize {
        self.columns
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The column in which a byte stands.
    pub fn column_of(&self, byte: usize) -> usize {
        let block = self.blocks.partition_point(|(at, _)| *at <= byte);
        let (at, column) = self.block(block.saturating_sub(1));
        column + self.text.get(at..byte).map_or(0, text::width)
    }

    /// `columns` from column `from` on; `marks` lays its own style over ranges of the text that
    /// it is given, which begins a little before and ends a little after.
    pub fn window(
        &self,
        from: usize,
        columns: usize,
        mark: impl FnOnce(Vec<Span<'static>>) -> Vec<Span<'static>>,
        style: Style,
    ) -> Line<'static> {
        let first = self.blocks.partition_point(|(_, column)| *column <= from);
        let last = self
            .blocks
            .partition_point(|(_, column)| *column < from + columns);
        let (at, column) = self.block(first.saturating_sub(2));
        let end = self.blocks.get(last + 1).map_or(self.text.len(), |b| b.0);
        let part = self.text.get(at..end).unwrap_or_default();
        let spans = mark(vec![Span::styled(part.to_owned(), style)]);
        text::window(spans, from - column, columns)
    }

    fn block(&self, at: usize) -> (usize, usize) {
        self.blocks.get(at).copied().unwrap_or_default()
    }
}

/// The long lines that were looked at last, by entry and line.
#[derive(Clone, Debug, Default)]
pub struct LongLines(RefCell<VecDeque<(usize, usize, Rc<LongLine>)>>);

impl LongLines {
    pub fn get(&self, entry: usize, line: usize, raw: &str) -> Rc<LongLine> {
        let mut kept = self.0.borrow_mut();
        let known = kept.iter().position(|(e, l, _)| (*e, *l) == (entry, line));
        if let Some(found) = known.and_then(|at| kept.remove(at)) {
            let line = Rc::clone(&found.2);
            kept.push_back(found);
            return line;
        }
        let made = Rc::new(LongLine::new(raw));
        kept.push_back((entry, line, Rc::clone(&made)));
        let bytes = |kept: &VecDeque<(usize, usize, Rc<LongLine>)>| {
            kept.iter().map(|(.., line)| line.text.len()).sum::<usize>()
        };
        while kept.len() > KEPT || (kept.len() > 1 && bytes(&kept) > KEPT_BYTES) {
            kept.pop_front();
        }
        made
    }

    /// Entries have changed or moved.
    pub fn forget(&mut self) {
        self.0.get_mut().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &LongLine, from: usize, columns: usize) -> String {
        let line = line.window(from, columns, |spans| spans, Style::default());
        line.spans.iter().map(|s| s.content.to_string()).collect()
    }

    #[test]
    fn any_part_of_a_long_line_is_as_if_the_whole_were_laid_out() {
        let raw = "a漢b\u{301}\tcd\u{1b}[31me\u{7}\u{202e}".repeat(3000);
        assert!(raw.len() > LONG);
        let line = LongLine::new(&raw);
        let whole = text::clean(&ansi::flat(&raw)).into_owned();
        assert_eq!(line.text(), whole);
        assert_eq!(line.columns(), text::width(&whole));
        for from in (0..line.columns()).step_by(997) {
            let expected = text::window(vec![Span::raw(whole.clone())], from, 60);
            let expected: String = expected.spans.iter().map(|s| &*s.content).collect();
            assert_eq!(shown(&line, from, 60), expected, "{from}");
        }
        let byte = whole.rmatch_indices('漢').next().map_or(0, |found| found.0);
        assert_eq!(line.column_of(byte), text::width(&whole[..byte]));
    }

    #[test]
    fn only_the_lines_that_were_looked_at_last_are_kept() {
        let mut lines = LongLines::default();
        let first = lines.get(0, 0, "x");
        assert!(Rc::ptr_eq(&first, &lines.get(0, 0, "x")));
        for entry in 1..=KEPT {
            lines.get(entry, 0, "y");
        }
        assert!(!Rc::ptr_eq(&first, &lines.get(0, 0, "x")));
        lines.forget();
        assert_eq!(lines.get(0, 0, "z").text(), "z");
    }
}
