//! Untrusted text made safe to show: tabs, control characters, widths, cuts.
//!
//! Everything that did not come from this program passes through here before it is a cell:
//! control characters become `^X`, C1 bytes `<9B>`, bidirectional and zero-width characters
//! `<U+202E>`, tabs spaces up to the next stop.

use std::borrow::Cow;
use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns between tab stops.
pub const TAB: usize = 4;

/// Columns that a text takes, as the screen counts them.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Whether a character changes or hides what stands around it without a trace of its own.
pub fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// The visible stand-in of a character that must not reach the terminal.
pub fn stand_in(c: char) -> Option<String> {
    match c {
        '\0'..='\u{1f}' => Some(format!("^{}", char::from(c as u8 + 64))),
        '\u{7f}' => Some("^?".into()),
        '\u{80}'..='\u{9f}' => Some(format!("<{:02X}>", c as u32)),
        c if is_hidden(c) => Some(format!("<U+{:04X}>", c as u32)),
        _ => None,
    }
}

/// One line of safe text, for labels and names; a line feed shows as `^J`.
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| c == '\t' || stand_in(c).is_some()) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if c == '\t' {
            let fill = TAB - width(&out) % TAB;
            out.extend(std::iter::repeat_n(' ', fill));
        } else if let Some(shown) = stand_in(c) {
            out.push_str(&shown);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Safe spans of one source line, with a style for each byte of the source.
///
/// `marked` is laid over the stand-ins. Stops once `columns` are filled, so that a line of a
/// megabyte costs no more than what is seen of it.
pub fn spans(
    line: &str,
    columns: usize,
    marked: Style,
    mut style_of: impl FnMut(usize) -> Style,
) -> Vec<Span<'static>> {
    let mut out: Vec<Span<'static>> = Vec::new();
    let mut run = String::new();
    let mut run_style = Style::default();
    let mut column = 0;
    let mut push = |text: &str, style: Style| {
        if style != run_style && !run.is_empty() {
            out.push(Span::styled(std::mem::take(&mut run), run_style));
        }
        run_style = style;
        run.push_str(text);
    };
    let mut utf8 = [0_u8; 4];
    for (at, c) in line.char_indices() {
        if column > columns {
            break;
        }
        let style = style_of(at);
        if c == '\t' {
            let fill = TAB - column % TAB;
            push(&" ".repeat(fill), style);
            column += fill;
        } else if let Some(shown) = stand_in(c) {
            push(&shown, style.patch(marked));
            column += shown.len();
        } else {
            push(c.encode_utf8(&mut utf8), style);
            column += c.width().unwrap_or(0);
        }
    }
    if !run.is_empty() {
        out.push(Span::styled(run, run_style));
    }
    out
}

/// The part of a line from column `skip` on, at most `columns` wide, cut between graphemes.
pub fn window(spans: Vec<Span<'static>>, skip: usize, columns: usize) -> Line<'static> {
    let mut out = Vec::with_capacity(spans.len());
    let mut column = 0;
    let end = skip + columns;
    for span in spans {
        let wide = width(&span.content);
        if column >= end {
            break;
        }
        if column + wide <= skip {
            column += wide;
            continue;
        }
        if column >= skip && column + wide <= end {
            column += wide;
            out.push(span);
            continue;
        }
        let mut text = String::new();
        for grapheme in span.content.graphemes(true) {
            let wide = width(grapheme);
            if column >= skip && column + wide <= end {
                text.push_str(grapheme);
            } else if column < skip && column + wide > skip {
                // half of a wide character is before the edge
                text.push(' ');
            }
            column += wide;
            if column >= end {
                break;
            }
        }
        out.push(Span::styled(text, span.style));
    }
    Line::from(out)
}

/// Lays a style over ranges of bytes of a line, widened to whole clusters: half of a letter with
/// its accent is no letter.
pub fn mark(
    spans: Vec<Span<'static>>,
    ranges: &[Range<usize>],
    style: Style,
) -> Vec<Span<'static>> {
    if ranges.is_empty() {
        return spans;
    }
    let whole: String = spans.iter().map(|span| span.content.as_ref()).collect();
    let mut wide: Vec<Range<usize>> = Vec::new();
    for (from, cluster) in whole.grapheme_indices(true) {
        let until = from + cluster.len();
        if !ranges.iter().any(|r| r.start < until && r.end > from) {
            continue;
        }
        match wide.last_mut() {
            Some(last) if last.end == from => last.end = until,
            _ => wide.push(from..until),
        }
    }
    let mut out = Vec::with_capacity(spans.len() + 2 * wide.len());
    let mut from = 0;
    for span in spans {
        let until = from + span.content.len();
        let mut at = from;
        let mut push = |part: Range<usize>, style: Style| {
            let text = whole.get(part).unwrap_or_default();
            if !text.is_empty() {
                out.push(Span::styled(text.to_owned(), style));
            }
        };
        for range in wide.iter().filter(|r| r.start < until && r.end > from) {
            let (start, end) = (range.start.max(from), range.end.min(until));
            push(at..start, span.style);
            push(start..end, span.style.patch(style));
            at = end;
        }
        push(at..until, span.style);
        from = until;
    }
    out
}

/// Safe text of at most `columns`, with `…` (or `>` in ASCII) where something was cut.
pub fn cut(text: &str, columns: usize, ellipsis: &str) -> String {
    let text = clean(text);
    if width(&text) <= columns {
        return text.into_owned();
    }
    let keep = columns.saturating_sub(width(ellipsis));
    let mut out = String::new();
    let mut column = 0;
    for grapheme in text.graphemes(true) {
        let wide = width(grapheme);
        if column + wide > keep {
            break;
        }
        out.push_str(grapheme);
        column += wide;
    }
    if columns >= width(ellipsis) {
        out.push_str(ellipsis);
    }
    out
}

/// As [`cut`], but keeps the end: for paths.
pub fn cut_start(text: &str, columns: usize, ellipsis: &str) -> String {
    let text = clean(text);
    if width(&text) <= columns {
        return text.into_owned();
    }
    let keep = columns.saturating_sub(width(ellipsis));
    let mut kept: Vec<&str> = Vec::new();
    let mut column = 0;
    for grapheme in text.graphemes(true).rev() {
        let wide = width(grapheme);
        if column + wide > keep {
            break;
        }
        kept.push(grapheme);
        column += wide;
    }
    kept.reverse();
    let mut out = String::new();
    if columns >= width(ellipsis) {
        out.push_str(ellipsis);
    }
    out.push_str(&kept.concat());
    out
}

/// `text` cut or filled with spaces on the right to exactly `columns`.
pub fn fit(text: &str, columns: usize, ellipsis: &str) -> String {
    let mut out = cut(text, columns, ellipsis);
    let fill = columns.saturating_sub(width(&out));
    out.extend(std::iter::repeat_n(' ', fill));
    out
}

/// Words of a paragraph broken to rows of at most `columns`; an empty text is one empty row.
pub fn wrap(text: &str, columns: usize, limit: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut rows = Vec::new();
    for line in text.lines() {
        if rows.len() >= limit {
            break;
        }
        // no more of it is looked at than rows can hold, however long it is
        let most = (limit - rows.len())
            .saturating_mul(columns)
            .saturating_mul(8);
        let mut end = line.len().min(most.max(64));
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        let part = line.get(..end).unwrap_or(line);
        wrap_line(&clean(part), columns, limit, &mut rows);
    }
    if rows.is_empty() {
        rows.push(String::new());
    }
    rows
}

/// As [`wrap`]; what does not fit in `limit` rows is marked at the end of the last one.
pub fn wrap_cut(text: &str, columns: usize, limit: usize, ellipsis: &str) -> Vec<String> {
    let mut rows = wrap(text, columns, limit + 1);
    if rows.len() > limit {
        rows.truncate(limit);
        if let Some(last) = rows.last_mut() {
            last.push_str(ellipsis);
            if width(last) > columns {
                let keep = columns.saturating_sub(width(ellipsis));
                *last = cut(last, keep, "") + ellipsis;
            }
        }
    }
    rows
}

fn wrap_line(line: &str, columns: usize, limit: usize, rows: &mut Vec<String>) {
    let mut row = String::new();
    let mut used = 0;
    for piece in line.split_inclusive(' ') {
        let word = piece.trim_end_matches(' ');
        let wide = width(word);
        if used > 0 && used + wide > columns {
            rows.push(std::mem::take(&mut row).trim_end().to_string());
            used = 0;
        }
        if wide > columns {
            for grapheme in word.graphemes(true) {
                let wide = width(grapheme);
                if used + wide > columns && used > 0 {
                    rows.push(std::mem::take(&mut row));
                    used = 0;
                }
                row.push_str(grapheme);
                used += wide;
            }
        } else {
            row.push_str(word);
            used += wide;
        }
        // blanks at the end of a row are not shown
        let blanks = piece.len() - word.len();
        row.extend(std::iter::repeat_n(' ', blanks));
        used += blanks;
        if rows.len() >= limit {
            return;
        }
    }
    rows.push(row.trim_end().to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hidden_survives() {
        assert_eq!(clean("a\tb"), "a   b");
        assert_eq!(clean("\u{1b}[31mred\u{7}\0"), "^[[31mred^G^@");
        assert_eq!(
            clean("x\u{202e}y\u{200b}z\u{9b}"),
            "x<U+202E>y<U+200B>z<9B>"
        );
        assert!(matches!(clean("plain ✔ 漢"), Cow::Borrowed(_)));
    }

    #[test]
    fn windows_cut_between_graphemes() {
        let line = |skip, columns| {
            let text = spans("a漢b\u{301}cd", 100, Style::default(), |_| {
                Style::default()
            });
            window(text, skip, columns)
                .spans
                .iter()
                .map(|s| s.content.to_string())
                .collect::<String>()
        };
        assert_eq!(line(0, 2), "a");
        assert_eq!(line(0, 3), "a漢");
        assert_eq!(line(2, 3), " b\u{301}c");
        assert_eq!(line(9, 3), "");
    }

    #[test]
    #[allow(clippy::single_range_in_vec_init)]
    fn a_mark_begins_and_ends_between_clusters() {
        let style = Style::default().add_modifier(ratatui::style::Modifier::BOLD);
        let parts = |ranges: &[Range<usize>]| {
            let line = vec![Span::raw("ae\u{301}"), Span::raw("o漢b")];
            let marked = mark(line, ranges, style).into_iter();
            let bold = |span: &Span<'_>| span.style == style;
            marked
                .filter(bold)
                .map(|span| span.content.into_owned())
                .collect::<Vec<_>>()
        };
        // the e alone, the accent alone, from the accent into the next span, half of a character
        assert_eq!(parts(&[1..2]), ["e\u{301}"]);
        assert_eq!(parts(&[2..4]), ["e\u{301}"]);
        assert_eq!(parts(&[2..5]), ["e\u{301}", "o"]);
        assert_eq!(parts(&[6..7]), ["漢"]);
        assert!(parts(&[]).is_empty());
    }

    #[test]
    fn cuts_say_so() {
        assert_eq!(cut("abcdef", 4, "…"), "abc…");
        assert_eq!(cut_start("a/b/cdef", 5, "…"), "…cdef");
        assert_eq!(cut("漢漢", 3, "…"), "漢…");
        assert_eq!(cut("abc", 0, "…"), "");
        assert_eq!(fit("ab", 4, "…"), "ab  ");
    }

    #[test]
    fn wraps_at_words_and_breaks_long_ones() {
        assert_eq!(wrap("one two three", 7, 99), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3, 99), ["abc", "def", "gh"]);
        assert_eq!(wrap("", 3, 99), [""]);
        assert_eq!(wrap("a\n\nb", 3, 99), ["a", "", "b"]);
        assert_eq!(wrap_cut("one two three", 7, 2, "…"), ["one two", "three"]);
        assert_eq!(wrap_cut("one two three", 7, 1, "…"), ["one tw…"]);
        assert_eq!(wrap_cut("a\nb\nc", 7, 2, "…"), ["a", "b…"]);
        assert!(wrap_cut("a b", 1, 0, "…").is_empty());
    }
}
